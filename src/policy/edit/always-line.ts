// What the answer `always` writes: one line of `allow` that lets exactly what was asked pass from now on, for every sandbox,
// put before the entry that asks. Never wider than what was shown, and never written before it was.
import type { ApprovalScope, Asked } from '../../path/approvals.ts';
import type { AllowRule, CompiledPolicy } from '../compiled.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import { parsePathPattern } from '../path-pattern.ts';
import type { AllowEntry } from './allow-entry.ts';
import { CannotEdit } from './edit-policy.ts';
import { planEdit, writeEdit } from './policy-file.ts';

export interface AlwaysLine {
  readonly file: string;
  /** Where it would stand, from 1. */
  readonly line: number;
  /** As it would stand in the file. */
  readonly text: string;
  /** Throws a CannotEdit when the file is not what it was, or cannot be written. It is in force when it has been reloaded. */
  write(): Promise<void>;
}

export interface AlwaysParts {
  /** `origin` of the policy in force: its file, or `embedded default`. */
  readonly origin: string;
  readonly machine: MachineFiles;
  readonly now: Date;
}

type Wanted = Pick<Asked, 'sandbox' | 'method' | 'scheme' | 'host' | 'port' | 'path' | 'rule'>;

/** Throws a CannotEdit where no line could say it. */
export async function lineForAlways(asked: Wanted, scope: ApprovalScope, parts: AlwaysParts): Promise<AlwaysLine> {
  const { origin, machine, now } = parts;
  if (!origin.startsWith('/')) {
    throw new CannotEdit(
      'there is no configuration file to write it into',
      'Make one with `sallyport init`, or approve it for some minutes.',
    );
  }
  const entry = {
    ...entryFor(asked, scope),
    comment: `approved ${now.toISOString().slice(0, 10)} for ${asked.sandbox}`,
  };
  const asking = /^allow\[(\d+)\]/.exec(asked.rule);
  const place = asking === null ? {} : { before: Number(asking[1]) };
  const plan = await planEdit(origin, [entry], machine, place).catch((error: unknown) => {
    throw isAboutAsking(error) ? nothingLeftToAsk(asked.rule) : error;
  });
  const { file, line, added: text, policy } = plan;
  if (!passesUnasked(policy, asked)) {
    throw new CannotEdit(
      `a new line would change nothing: another entry for ${asked.host} comes first`,
      'Change that entry yourself, or approve it for some minutes.',
    );
  }
  return { file, line, text, write: () => writeEdit(plan) };
}

/** An entry that asks and never gets to is an error of a policy (compile.ts): here it means that the line does all it does. */
function isAboutAsking(error: unknown): boolean {
  return error instanceof CannotEdit && error.message.includes('before anybody is asked');
}

function nothingLeftToAsk(rule: string): CannotEdit {
  return new CannotEdit(
    `with this line, ${rule} would never ask again`,
    `Take \`ask: true\` out of ${rule} yourself; or approve the one path, or for some minutes.`,
  );
}

function entryFor(asked: Wanted, scope: ApprovalScope): AllowEntry {
  const { host, scheme, port, method } = asked;
  if (asked.rule.startsWith('github.')) {
    throw new CannotEdit(
      `${asked.rule} asks about this, whatever \`allow\` says`,
      `Take the effect out of ${asked.rule} yourself, or approve it for some minutes.`,
    );
  }
  const usual = port === (scheme === 'https' ? 443 : 80);
  // With plain_http the usual ports are both of them: only the one that was asked for is meant.
  const ports = usual && scheme === 'https' ? {} : { ports: [port] };
  if (asked.path === '') {
    if (scope === 'path') throw new CannotEdit('an undecrypted tunnel has no path', 'Approve the host.');
    return { host, ...ports, tunnel: true };
  }
  const paths = scope === 'host' ? {} : { paths: [literalPath(asked.path)] };
  return { host, methods: [method], ...paths, ...ports, ...(scheme === 'http' && { plain_http: true as const }) };
}

/** A path that is a pattern of itself alone. */
function literalPath(path: string): string {
  const parsed = parsePathPattern(path);
  // As long as a path may be, it may be the beginning of a longer one.
  const problem =
    'problem' in parsed
      ? parsed.problem
      : path.includes('*')
        ? 'a pattern would take its `*` for any text'
        : path.length >= 1000
          ? 'it is too long'
          : null;
  if (problem === null) return path;
  throw new CannotEdit(
    `this path cannot be written as a rule: ${problem}`,
    'Approve the host, or only for some minutes.',
  );
}

/** Whether the first entry that covers it lets it pass. The path itself judges again; this is so that nobody is fooled. */
function passesUnasked(policy: CompiledPolicy, asked: Wanted): boolean {
  const isTunnel = asked.path === '';
  const covers = (rule: AllowRule): boolean =>
    rule.tunnel === isTunnel &&
    rule.ports.includes(asked.port) &&
    (asked.scheme === 'https' || rule.plainHttp) &&
    (isTunnel || rule.methods === null || rule.methods.has(asked.method)) &&
    (isTunnel || rule.paths === null || rule.paths.some((pattern) => pattern.covers(asked.path)));
  const first = policy.rulesFor(asked.host).find(covers);
  return first !== undefined && !first.ask;
}
