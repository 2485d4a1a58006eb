// `sallyport audit verify`: reads the journal's hash chain from its files, with or without a running gateway. A gateway
// that was tampered with must not be the one that vouches for its journal, so this does not ask it.
import type { Command } from 'commander';
import type { Verification } from '../audit/verify.ts';
import type { CliContext } from './cli-context.ts';
import { exitCode } from './exit-code.ts';
import { printable } from './printable.ts';
import { printJson, wantsJson } from './wants-json.ts';

export function addAuditCommand(program: Command, context: CliContext): void {
  const audit = program
    .command('audit')
    .summary('the journal as evidence')
    .description('The journal as evidence.')
    .addHelpText('after', '\nExamples:\n  sallyport audit verify');
  audit
    .command('verify')
    .summary('does the hash chain hold?')
    .description('Verifies the hash chain of the journal; names the first record where it breaks.')
    .addHelpText('after', '\nExamples:\n  sallyport audit verify\n  sallyport audit verify --json')
    .action(async (_options: object, command: Command) => {
      const { verifyJournal } = await import('../audit/verify.ts');
      const result = await verifyJournal(context.places.journalDirectory);
      if (!result.ok) context.exitCode = exitCode.failure;
      if (wantsJson(command)) printJson(context, result);
      else context.print(describe(context, result));
    });
}

function describe({ colors }: CliContext, result: Verification): string {
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
  const lines = [
    `${colors.green('intact')} ${result.records} records in ${result.files} files, ${result.firstSeq} to ${result.lastSeq}`,
    `  last hash     ${result.hash}`,
  ];
  if (result.aheadOfHead > 0)
    lines.push(`  not yet noted ${result.aheadOfHead} newest records, written just now or just before a crash`);
  if (result.tornBytes > 0) lines.push(`  unfinished    ${result.tornBytes} bytes of a last line`);
  return lines.join('\n');
}
