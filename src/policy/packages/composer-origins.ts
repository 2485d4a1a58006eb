// composer: repositories of its global configuration. Without one that switches packagist off, packagist. Archives
// come from the forges, which have presets of their own.
import { join } from 'node:path';
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

const defaults = ['repo.packagist.org', 'packagist.org'];

export function composerOrigins(machine: MachineFiles, found: OriginList): void {
  const config = machine.env.XDG_CONFIG_HOME ?? join(machine.home, '.config');
  const homes = [join(machine.home, '.composer'), join(config, 'composer')];
  if (machine.env.COMPOSER_HOME) homes.unshift(machine.env.COMPOSER_HOME);
  let packagist = true;
  for (const home of homes) {
    for (const [name, repository] of repositoriesIn(machine.readText(join(home, 'config.json')))) {
      const switchedOff = repository === false ? name : offName(repository);
      if (switchedOff === 'packagist.org' || switchedOff === 'packagist') packagist = false;
      const url = field(repository, 'url');
      if (typeof url !== 'string') continue;
      const added = found.addUrl(url);
      // A repository of this name takes the place of the built-in one.
      if (added && (name === 'packagist.org' || name === 'packagist')) packagist = false;
    }
  }
  if (packagist) for (const host of defaults) found.addHttps(host);
}

/** A list, or a map by name. */
function repositoriesIn(text: string | null): [name: string, repository: unknown][] {
  if (text === null) return [];
  try {
    const repositories = field(JSON.parse(text), 'repositories');
    return typeof repositories === 'object' && repositories !== null ? Object.entries(repositories) : [];
  } catch {
    return [];
  }
}

/** `{"packagist.org": false}` in a list. */
function offName(repository: unknown): string | null {
  return ['packagist.org', 'packagist'].find((name) => field(repository, name) === false) ?? null;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
