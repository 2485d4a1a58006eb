// npm, and what reads its configuration (pnpm, yarn, bun): the registry and the registries of scopes. No registry is
// named here: when nobody configured one, it is npm's own default, read from npm's files or asked of npm.
import { dirname, join } from 'node:path';
import { configLines } from '../../kit/registries/config-lines.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

// One answer per machine: the policy is reloaded often, and starting npm takes a third of a second.
const answers = new WeakMap<MachineFiles, Promise<string | null>>();

export async function npmOrigins(machine: MachineFiles, found: OriginList): Promise<void> {
  let named = false;
  for (const [name, value] of Object.entries(machine.env)) {
    if (!value) continue;
    if (/^npm_config_registry$/i.test(name)) named = found.addUrl(value) || named;
    // npm_config_@scope:registry
    else if (/^npm_config_@[^:]+:registry$/i.test(name)) found.addUrl(value);
  }
  for (const path of npmrcFiles(machine)) {
    const text = machine.readText(path);
    if (text === null) continue;
    for (const { key, value } of configLines(text)) {
      const url = expand(value, machine.env);
      if (key === 'registry') named = found.addUrl(url) || named;
      else if (/^@[^:]+:registry$/.test(key)) found.addUrl(url);
    }
  }
  if (named) return;
  const answer = defaultOfNpm(machine) ?? (await askNpm(machine));
  if (answer === null || !found.addUrl(answer)) {
    found.warn(
      'no registry is configured and npm could not be asked: set one with `npm config set registry URL`, or add its host to `allow`',
    );
  }
}

function npmrcFiles(machine: MachineFiles): string[] {
  const env = (name: string): string | undefined => machine.env[name] ?? machine.env[name.toUpperCase()];
  const user = env('npm_config_userconfig') ?? join(machine.home, '.npmrc');
  const prefix = env('npm_config_prefix') ?? machine.env.PREFIX ?? join(dirname(process.execPath), '..');
  const global = env('npm_config_globalconfig') ?? join(prefix, 'etc', 'npmrc');
  // The .npmrc of a project is left out on purpose: the sandbox could name a host of its choice in it.
  return [user, global, '/etc/npmrc', '/usr/etc/npmrc'];
}

/** What npm itself would take, out of the npm beside this Node: a start of npm takes longer than all the rest of ours. */
function defaultOfNpm(machine: MachineFiles): string | null {
  const npm = join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm');
  // A configuration built into npm itself (distributions do this) comes before its default: then npm is asked.
  if (machine.readText(join(npm, 'npmrc'))?.includes('registry')) return null;
  const text = machine.readText(join(npm, 'node_modules', '@npmcli', 'config', 'lib', 'definitions', 'definitions.js'));
  return text === null
    ? null
    : (/new Definition\('registry', \{\s*default: [`'"](https:\/\/[^`'"\s]+)[`'"]/.exec(text)?.[1] ?? null);
}

function askNpm(machine: MachineFiles): Promise<string | null> {
  let answer = answers.get(machine);
  if (!answer) {
    answer = machine.run(['npm', 'config', 'get', 'registry']).then((text) => text?.trim() ?? null);
    answers.set(machine, answer);
  }
  return answer;
}

/** `${NAME}` as npm reads it. A variable that is not set makes the line unreadable, so it is left out. */
function expand(value: string, env: MachineFiles['env']): string {
  return value.replace(/\$\{([^}]+)\}/g, (_, name: string) => env[name] ?? '');
}
