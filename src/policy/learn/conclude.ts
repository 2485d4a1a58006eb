// Ends a learning session: makes a proposal from its records and the policy that was in force. Reads the configuration of this
// machine's package managers only when there is something to propose.
import type { CompiledPolicy } from '../compiled.ts';
import { knownHosts } from '../explain/known-hosts.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import type { LearnedSession } from './learned-sessions.ts';
import { observe } from './observe.ts';
import { proposeEntries } from './propose.ts';
import { readingPresets } from './reading-presets.ts';

export interface SessionParts {
  readonly sandbox: string;
  readonly directory: string;
  /** The policy that was in force. */
  readonly policy: CompiledPolicy;
  readonly records: AsyncIterable<Readonly<Record<string, unknown>>>;
  readonly machine: MachineFiles;
  readonly now: Date;
}

export async function conclude(parts: SessionParts): Promise<LearnedSession> {
  const { policy, now } = parts;
  const { read, refused, leftOut } = await observe(parts.records);
  const presets = read.length === 0 ? [] : await readingPresets(policy, parts.machine);
  const date = now.toISOString().slice(0, 10);
  const entries = proposeEntries({ read, presets, known: knownHosts(policy), date });
  return {
    sandbox: parts.sandbox,
    at: now.toISOString(),
    config: policy.origin.startsWith('/') ? policy.origin : null,
    directory: parts.directory,
    entries: entries.map(({ preset, host, methods, comment }) => ({
      ...(preset !== undefined && { preset }),
      ...(host !== undefined && { host }),
      ...(methods !== undefined && { methods: [...methods] }),
      ...(comment !== undefined && { comment }),
    })),
    refused: refused.map((one) => ({ ...one, line: lineOf(policy, one.rule) })),
    leftOut,
  };
}

/** Of several rules that come into question, the first. */
function lineOf({ allow }: CompiledPolicy, rule: string): number | null {
  const name = rule.split(', ')[0];
  return allow.find((one) => one.name === name)?.line ?? null;
}
