// Ends a learning session: makes a proposal from its records and the policy that was in force. Reads the configuration of this
// machine's package managers only when there is something to propose.
import { compileGlob } from '../../kit/text/glob.ts';
import type { CompiledPolicy } from '../compiled.ts';
import { knownHosts } from '../explain/known-hosts.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import { findPackageHosts, type PackageFamily } from '../load/package-hosts.ts';
import type { PackageOrigin } from '../packages/package-origin.ts';
import { loadPresets } from '../schema/presets.ts';
import type { LearnedSession } from './learned-sessions.ts';
import { observe } from './observe.ts';
import { type PresetHost, proposeEntries, type ReadingPreset } from './propose.ts';

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

// The presets that learning may propose: those of package managers, as this machine has them configured. They install, and
// bring no credential. One with a host over plain http, on another port, or with something to warn about is left out.
export async function readingPresets(policy: CompiledPolicy, machine: MachineFiles): Promise<readonly ReadingPreset[]> {
  const used = new Set(policy.allow.map(({ name }) => /\(preset (.+)\)$/.exec(name)?.[1]));
  const candidates = [...loadPresets().presets.values()].filter(
    ({ name, packages, rules, credentials }) =>
      !used.has(name) && packages !== null && rules.length === 0 && credentials.length === 0,
  );
  // Some ask a program for its configuration: all at once.
  const found = await Promise.all(candidates.map(({ name, packages }) => readingPreset(name, packages!, machine)));
  return found.filter((preset) => preset !== null);
}

async function readingPreset(
  name: string,
  family: PackageFamily,
  machine: MachineFiles,
): Promise<ReadingPreset | null> {
  const found = (await findPackageHosts(new Set([family]), machine)).get(family);
  if (found === undefined || found.warnings.length > 0 || found.origins.length === 0) return null;
  const isPlain = ({ scheme, port }: PackageOrigin): boolean => scheme === 'https' && port === 443;
  if (!found.origins.every(isPlain)) return null;
  const also = family === 'npm' ? { also: 'npm audit may post its list of packages there' } : {};
  return { name, hosts: found.origins.map(asHost), ...also };
}

function asHost({ host, paths }: PackageOrigin): PresetHost {
  const globs = paths?.map(compileGlob) ?? null;
  return { host, covers: (path) => globs === null || globs.some((glob) => glob.covers(path)) };
}
