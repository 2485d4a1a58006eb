// cargo: registries and source replacement from its config file. Without a replacement, crates.io. A git index is a
// matter for the preset of its forge and is left out here unless it is plain https.
import { join } from 'node:path';
import { configLines } from '../../kit/registries/config-lines.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

const defaults = ['index.crates.io', 'static.crates.io', 'crates.io'];

export function cargoOrigins(machine: MachineFiles, found: OriginList): void {
  const home = machine.env.CARGO_HOME ?? join(machine.home, '.cargo');
  // cargo reads `config` before `config.toml` when both are there; the hosts of both do no harm.
  const text = ['config.toml', 'config'].map((name) => machine.readText(join(home, name)) ?? '').join('\n');
  const sources = new Map<string, { registry?: string; replaceWith?: string }>();
  for (const { section, key, value } of flatten(configLines(text))) {
    const [kind, name] = splitSection(section);
    if (kind === 'registries' && key === 'index') found.addUrl(value);
    if (kind !== 'source' || name === '') continue;
    const source = sources.get(name) ?? {};
    if (key === 'registry') source.registry = value;
    if (key === 'replace-with') source.replaceWith = value;
    sources.set(name, source);
  }
  for (const [variable, value] of Object.entries(machine.env)) {
    if (value && /^CARGO_REGISTRIES_.+_INDEX$/.test(variable)) found.addUrl(value);
  }
  const replacement = endOfChain(sources);
  if (replacement === null) for (const host of defaults) found.addHttps(host);
  else if (replacement.registry) found.addUrl(replacement.registry);
  // crates.io's own index, named as a replacement, still downloads from its file host.
  if (found.has('index.crates.io')) for (const host of defaults) found.addHttps(host);
}

/** What crates-io is replaced with in the end; null: it is not. */
function endOfChain(
  sources: ReadonlyMap<string, { registry?: string; replaceWith?: string }>,
): { registry?: string } | null {
  let name = sources.get('crates-io')?.replaceWith;
  if (name === undefined) return null;
  // A chain longer than the list of sources is a circle.
  for (let hops = 0; hops <= sources.size; hops++) {
    const source = sources.get(name);
    if (source?.replaceWith === undefined) return source ?? {};
    name = source.replaceWith;
  }
  return {};
}

function splitSection(section: string): [kind: string, name: string] {
  const dot = section.indexOf('.');
  return dot < 0 ? [section, ''] : [section.slice(0, dot), section.slice(dot + 1).replace(/^["']|["']$/g, '')];
}

/** `[source]` with `crates-io = { replace-with = "corp" }` says the same as `[source.crates-io]` with one line. */
function flatten(lines: ReturnType<typeof configLines>): ReturnType<typeof configLines> {
  return lines.flatMap((line) => {
    if (!line.value.startsWith('{')) return [line];
    const section = line.section === '' ? line.key : `${line.section}.${line.key}`;
    const inner = line.value.matchAll(/([\w-]+)\s*=\s*"([^"]*)"/g);
    return [...inner].map((match) => ({ section, key: match[1]!, value: match[2]! }));
  });
}
