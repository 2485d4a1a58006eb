// `sallyport audit verify` and `merge`: read the journal's hash chain from its files, with or without a running gateway. A
// gateway that was tampered with must not be the one that vouches for its journal, so this does not ask it.
import { statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { homesWithJournals } from '../kit/files/gateway-homes.ts';
import { placesIn } from '../kit/files/home.ts';
import type { NamedJournal } from '../stages/audit/journal/merge.ts';
import type { Broken, Intact } from '../stages/audit/journal/verify.ts';
import type { GatewayVerification } from '../stages/audit/journal/verify-gateway.ts';
import type { MergedVerification } from '../stages/audit/journal/verify-merged.ts';
import type { CliContext } from './cli-context.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

const mergeExample = 'sallyport audit merge a=/mnt/gateway-a/journal b=/mnt/gateway-b/journal > merged.jsonl';

export function addAuditCommand(program: Command, context: CliContext): void {
  const audit = program
    .command('audit')
    .summary('the journal as evidence')
    .description('The journal as evidence.')
    .addHelpText('after', `\nExamples:\n  sallyport audit verify\n  ${mergeExample}`);
  audit
    .command('verify')
    .argument(
      '[PATH]',
      'another journal (a folder), or a merged one (a file); left out: the journals of all your gateways',
    )
    .option('--key <FINGERPRINT...>', "keys that must have signed it; the gateway's log names one at each start")
    .summary('does the hash chain hold?')
    .description('Verifies the hash chain of a journal; names the first record where it breaks.')
    .addHelpText(
      'after',
      '\nExamples:\n  sallyport audit verify\n  sallyport audit verify --json\n  sallyport audit verify merged.jsonl',
    )
    .action(async (path: string | undefined, { key = [] }: { key?: string[] }, command: Command) => {
      if (path === undefined) return verifyAll(context, key, wantsJson(command));
      const result = demandKeys(key, [await verifyAt(resolve(context.cwd, path))]);
      if (!result.ok) context.exitCode = exitCode.failure;
      if (wantsJson(command)) printJson(context, result);
      else
        context.print(
          'gateways' in result || 'gateway' in result ? describeMerged(context, result) : describe(context, result),
        );
    });
  audit
    .command('merge')
    .argument('<JOURNAL...>', 'folders of journals, each as NAME=FOLDER, or a folder alone')
    .summary('the journals of several gateways as one')
    .description(
      'Verifies each journal and prints them as one, in order of time. What it prints can be verified again: each chain is still in it.',
    )
    .addHelpText('after', `\nExamples:\n  ${mergeExample}\n  sallyport audit verify merged.jsonl`)
    .action(async (named: string[]) => merge(context, named));
}

/** Of every gateway of the user, also of those that have ended. The first one's is named even when it is empty. */
async function verifyAll(context: CliContext, keys: readonly string[], asJson: boolean): Promise<void> {
  const { verifyGateway } = await import('../stages/audit/journal/verify-gateway.ts');
  const found: { readonly journal: string; readonly result: GatewayVerification }[] = [];
  for (const [at, home] of homesWithJournals(context.places.home).entries()) {
    const journal = placesIn(home).journalDirectory;
    const result = await verifyGateway(journal);
    if (at === 0 || !result.ok || result.files > 0) found.push({ journal, result });
  }
  const all = found.map(({ result }) => result);
  const verdict = demandKeys(keys, all) as GatewayVerification;
  if (!verdict.ok) context.exitCode = exitCode.failure;
  const isKeyMissing = !verdict.ok && !all.includes(verdict);
  if (asJson) {
    const each = found.map(({ journal, result }) => ({ journal, ...result }));
    return printJson(context, found.length === 1 ? verdict : { ...verdict, journals: each });
  }
  if (found.length === 1) return context.print(describe(context, verdict));
  for (const { journal, result } of found)
    context.print(`${context.colors.bold(printable(journal))}\n${describe(context, result)}`);
  if (isKeyMissing) context.print(describe(context, verdict));
}

/** A place that somebody names is there. */
async function verifyAt(path: string): Promise<GatewayVerification | MergedVerification> {
  const { verifyGateway } = await import('../stages/audit/journal/verify-gateway.ts');
  if (kindOf(path) === 'file') return (await import('../stages/audit/journal/verify-merged.ts')).verifyMerged(path);
  return asNamed(path, await verifyGateway(path));
}

/**
 * Who rewrites everything signs it with another key: only the reader can know which are the gateway's. Each has signed one of the
 * journals. Returns what is broken, or else the first.
 */
function demandKeys(
  keys: readonly string[],
  found: readonly (GatewayVerification | MergedVerification)[],
): GatewayVerification | MergedVerification {
  const first = found.find(({ ok }) => !ok) ?? found[0]!;
  if (keys.length === 0 || !first.ok) return first;
  const signed = found.flatMap((one) => {
    if (!('signed' in one))
      throw new CommandFailed(exitCode.usage, 'a merged journal has no signatures: verify each journal with --key');
    // Each process signs its own journal.
    return [...one.signed, ...(one.workers ?? []).flatMap((worker) => worker.signed)];
  });
  const missing = keys.find((wanted) => !signed.some(({ key }) => key === wanted));
  if (missing === undefined) return first;
  const message = `nothing in it is signed with the key ${missing}: it was rewritten, or the records that key signed were removed by retention`;
  return { ok: false, kind: 'signature', file: 'signatures', line: null, seq: null, message, records: first.records };
}

/** Whoever names a folder means one with a journal: an empty one, or the folder above it, would pass for one with no records. */
function asNamed<Found extends Broken | Intact>(path: string, found: Found): Found {
  if (!found.ok || found.files > 0) return found;
  throw new CommandFailed(
    exitCode.usage,
    `${path} holds no journal: its files are called journal-000001.jsonl and so on`,
  );
}

function kindOf(path: string): 'file' | 'folder' {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) return 'file';
  if (found?.isDirectory() === true) return 'folder';
  throw new CommandFailed(exitCode.usage, `${path} is neither the folder of a journal nor a merged journal`);
}

async function merge(context: CliContext, named: readonly string[]): Promise<void> {
  const { gatewayName, JournalChanged, mergeJournals, verifyEach, withWorkers } = await import(
    '../stages/audit/journal/merge.ts'
  );
  const journals = named.map((one) => readName(context, one)).flatMap(withWorkers);
  const names = journals.map(({ name }) => name);
  for (const [i, name] of names.entries()) {
    if (!gatewayName.test(name))
      throw new CommandFailed(
        exitCode.usage,
        `${name} is no name for a gateway: write NAME=FOLDER, with letters, digits, . _ or -`,
      );
    if (names.indexOf(name) !== i)
      throw new CommandFailed(exitCode.usage, `two journals are called ${name}: write NAME=FOLDER for each`);
  }
  for (const { directory } of journals) {
    if (kindOf(directory) === 'file')
      throw new CommandFailed(exitCode.usage, `${directory} is not the folder of a journal`);
  }
  const verified = await verifyEach(journals);
  for (const { directory, found } of verified) asNamed(directory, found);
  const intact: (NamedJournal & { found: Intact })[] = [];
  for (const { found, ...journal } of verified) {
    const twin = found.ok && found.records > 0 ? intact.find((one) => one.found.hash === found.hash) : undefined;
    if (twin !== undefined)
      throw new CommandFailed(exitCode.usage, `${twin.name} and ${journal.name} are the same journal: name each once`);
    if (found.ok) intact.push({ ...journal, found });
    else context.say(`${journal.name}: ${describe(context, found)}`);
  }
  if (intact.length < verified.length) {
    context.exitCode = exitCode.failure;
    context.say('Nothing was merged. Look at the broken journal by itself first.');
    return;
  }
  try {
    for await (const line of mergeJournals(intact)) {
      context.print(line);
      await context.untilTaken();
    }
  } catch (error) {
    if (!(error instanceof JournalChanged)) throw error;
    throw new CommandFailed(exitCode.failure, error.message, 'The output is incomplete: merge again.');
  }
}

/** `NAME=FOLDER`, or a folder: then it is called after itself, or after where it is when that says nothing. */
function readName(context: CliContext, text: string): NamedJournal {
  const equals = text.indexOf('=');
  if (equals > 0) return { name: text.slice(0, equals), directory: resolve(context.cwd, text.slice(equals + 1)) };
  const directory = resolve(context.cwd, text);
  const own = basename(directory);
  return { name: own === 'journal' ? basename(dirname(directory)) : own, directory };
}

function describeMerged({ colors }: CliContext, result: MergedVerification): string {
  if (!result.ok) {
    return [`${colors.red('broken')} ${printable(result.message)}`, `  first break   line ${result.line}`].join('\n');
  }
  const isWhole = result.gateways.every(({ records, lastSeq }) => records === lastSeq);
  const verdict = isWhole ? colors.green('intact') : colors.yellow('holds, with gaps');
  const lines = [`${verdict} ${result.records} records of ${result.gateways.length} gateways`];
  for (const { name, records, lastSeq } of result.gateways) {
    const earlier = lastSeq - records;
    const gone = earlier > 0 ? `; the ${earlier} before them had been removed by retention when it was merged` : '';
    lines.push(`  ${printable(name).padEnd(13)} ${records} records, to ${lastSeq}${gone}`);
  }
  return lines.join('\n');
}

function describeGone({ records, files, bytes, from, to, chained }: NonNullable<Intact['letGo']>): string[] {
  const size = bytes === null ? 'of unknown size' : `${bytes} bytes`;
  const span = `from ${from === null ? 'the beginning' : printable(from)} to ${to === null ? 'an unknown time' : printable(to)}`;
  const lines = [`  removed       ${records} records in ${files} files, ${size}, ${span}`];
  lines.push(
    chained
      ? '                by retention, as a record of the chain says'
      : '                by retention, says the head file. It is not part of the chain: whoever deleted them could have written it',
  );
  return lines;
}

function describeSigned({ signed, lastSeq }: Intact): string[] {
  const last = signed.at(-1);
  if (last === undefined) return [];
  const after = lastSeq - last.seq;
  const keys = signed.length === 1 ? 'one key' : `${signed.length} keys, one for each start`;
  return [
    `  signed        to record ${last.seq} at ${printable(last.time)}${after > 0 ? `; ${after} newer ones are not yet` : ''}`,
    `                by ${keys}, the last ${printable(last.key)}: compare it with the gateway's log`,
  ];
}

function describe(context: CliContext, result: GatewayVerification): string {
  const workers = (result.ok ? result.workers : undefined) ?? [];
  return [
    describeOne(context, result),
    ...workers.map((one) => `worker ${one.worker}: ${describeOne(context, one)}`),
  ].join('\n');
}

function describeOne({ colors }: CliContext, result: Broken | Intact): string {
  if (!result.ok) {
    const place = [result.file, result.line].filter((part) => part !== null).join(':');
    const lines = [
      `${colors.red('broken')} (${result.kind}) ${printable(result.message)}`,
      `  first break   ${place === '' ? 'the journal as a whole' : printable(place)}`,
    ];
    if (result.seq !== null) lines.push(`  record        ${result.seq}`);
    lines.push(`  before it     ${result.records} records hold together`);
    return lines.join('\n');
  }
  if (result.records === 0) return `${colors.green('intact')} the journal is empty`;
  const isWhole = result.letGo === null && result.lost === 0;
  const lines = [
    `${isWhole ? colors.green('intact') : colors.yellow('holds, with gaps')} ${result.records} records in ${result.files} files, ${result.firstSeq} to ${result.lastSeq}`,
    `  last hash     ${result.hash}`,
  ];
  if (result.letGo !== null) lines.push(...describeGone(result.letGo));
  lines.push(...describeSigned(result));
  if (result.lost > 0)
    lines.push(`  lost          ${result.lost} records that could not be written to disk, as the journal itself says`);
  if (result.aheadOfHead > 0)
    lines.push(`  not yet noted ${result.aheadOfHead} newest records, written just now or just before a crash`);
  if (result.tornBytes > 0) lines.push(`  unfinished    ${result.tornBytes} bytes of a last line`);
  return lines.join('\n');
}
