// From a proposal to what would be written: into the configuration that was in force, or, where there was none, into a new one
// made of the built-in one's lines. What the file has meanwhile is left out. Never writes by itself.
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { quoteIfNeeded } from '../../kit/text/shell-quote.ts';
import type { AllowRule, CompiledPolicy } from '../compiled.ts';
import type { AllowEntry } from '../edit/allow-entry.ts';
import { addAllowEntries, CannotEdit } from '../edit/edit-policy.ts';
import { planEdit, writeEdit } from '../edit/policy-file.ts';
import { knownHosts } from '../explain/known-hosts.ts';
import { configFileName, isStandInConfig } from '../load/config-places.ts';
import { embeddedDefault, loadPolicy, loadPolicyText } from '../load/load-policy.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import { formatPolicyError, type PolicyResult } from '../schema/policy-error.ts';
import type { LearnedSession } from './learned-sessions.ts';

export interface LearnedEdit {
  readonly file: string;
  readonly isNew: boolean;
  /** From 1. */
  readonly line: number;
  readonly added: string;
  /** How many entries; 0: the file has all of them. */
  readonly count: number;
  /** Wildcards and presets that would reach a host the file has a rule for by now: for a person to decide. */
  readonly leftOut: readonly string[];
  /** Throws a CannotEdit when the file is not what was shown. */
  write(): Promise<void>;
}

type Proposal = Pick<LearnedSession, 'sandbox' | 'config' | 'directory' | 'entries'>;

/** `config`: another file than the one that was in force. Throws a CannotEdit. */
export async function planLearned(
  proposal: Proposal,
  machine: MachineFiles,
  config: string | null = proposal.config,
): Promise<LearnedEdit> {
  const entries = proposal.entries.map(asEntry);
  if (config === null) return planNew(proposal, entries, machine);
  const now = compiled(await loadPolicy(config, machine), config);
  const { missing, leftOut } = await withoutWideningPresets(config, now, missingIn(now, entries), machine);
  if (missing.length === 0) {
    return { file: config, isNew: false, line: 1, added: '', count: 0, leftOut, write: async () => {} };
  }
  const plan = await planEdit(config, missing, machine);
  const { file, line, added } = plan;
  return { file, isNew: false, line, added, count: missing.length, leftOut, write: () => writeEdit(plan) };
}

const heading = '# Sallyport: what sandboxes may reach. The first lines are what the built-in configuration has.\n';

async function planNew(
  { sandbox, directory }: Proposal,
  entries: readonly AllowEntry[],
  machine: MachineFiles,
): Promise<LearnedEdit> {
  const file = join(directory, configFileName);
  const { text, line, added } = addAllowEntries(`${heading}${embeddedDefault}`, entries);
  compiled(await loadPolicyText(text, file, dirname(file), machine), file);
  const write = async (): Promise<void> => {
    try {
      // Only where there is none: one that has turned up since may be the work of the sandbox. Written over is what keeps the
      // place of one, in place, since sandboxes are kept from that very file.
      const handle = await open(file, isStandInConfig(file) ? 'r+' : 'wx', 0o644);
      try {
        await handle.truncate();
        await handle.writeFile(text);
      } catch (error) {
        // Half of it would be what the next run follows.
        await rm(file, { force: true });
        throw error;
      } finally {
        await handle.close();
      }
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      throw code === 'EEXIST'
        ? new CannotEdit(
            `${file} was not there when the session began, and is now`,
            `Read it. If it is yours, name it: sallyport learn apply ${sandbox} --config ${quoteIfNeeded(file)}`,
          )
        : new CannotEdit(`${file} cannot be written (${code})`, 'Add the lines yourself.');
    }
  };
  return { file, isNew: true, line, added, count: entries.length, leftOut: [], write };
}

interface Missing {
  readonly missing: readonly AllowEntry[];
  readonly leftOut: readonly string[];
}

/** Without those that the policy covers by now: somebody has added a preset or a rule. */
function missingIn(policy: CompiledPolicy, entries: readonly AllowEntry[]): Missing {
  const known = knownHosts(policy);
  const presets = new Set(policy.allow.map(presetOf));
  const hosts = entries.flatMap(({ host }) => host ?? []);
  const leftOut = hosts.filter(
    (host) => host.startsWith('*.') && !known.names(host) && known.reachedBelow(host.slice(2)),
  );
  const missing = entries.filter(({ preset, host }) => {
    if (preset !== undefined) return !presets.has(preset);
    return host !== undefined && !known.names(host) && !leftOut.includes(host);
  });
  return { missing, leftOut };
}

/** Which hosts a preset has, and what it allows there, is known when it is compiled: it may be more than somebody wrote. */
async function withoutWideningPresets(
  file: string,
  now: CompiledPolicy,
  { missing, leftOut }: Missing,
  machine: MachineFiles,
): Promise<Missing> {
  const presets = missing.filter(({ preset }) => preset !== undefined);
  if (presets.length === 0) return { missing, leftOut };
  const known = knownHosts(now);
  const isKnown = (host: string): boolean =>
    known.names(host) || (host.startsWith('*.') && known.reachedBelow(host.slice(2)));
  const { policy } = await planEdit(file, presets, machine);
  const widening = new Set(policy.allow.filter(({ host }) => isKnown(host.text)).map(presetOf));
  const widens = ({ preset }: AllowEntry): boolean => preset !== undefined && widening.has(preset);
  return {
    missing: missing.filter((entry) => !widens(entry)),
    leftOut: [...leftOut, ...missing.filter(widens).map(({ preset }) => `preset ${preset}`)],
  };
}

function presetOf({ name }: AllowRule): string | undefined {
  return /\(preset (.+)\)$/.exec(name)?.[1];
}

function compiled(result: PolicyResult, file: string): CompiledPolicy {
  if (result.ok) return result.policy;
  const errors = result.errors.map(formatPolicyError).join('\n');
  throw new CannotEdit(`${file} is not valid:\n${errors}`, 'Repair it first.');
}

/** Only what learning proposes: whatever else a file says, it is to read. */
function asEntry({ preset, host, comment }: LearnedSession['entries'][number]): AllowEntry {
  const said = comment === undefined ? {} : { comment };
  if (preset !== undefined) return { preset, ...said };
  return { ...(host !== undefined && { host }), methods: ['GET', 'HEAD'], ...said };
}
