// go: GOPROXY and GOSUMDB from the environment or go's own env file. `direct` and `off` name no host: what is fetched
// directly comes from the forges, which have presets of their own.
import { join } from 'node:path';
import { configLines } from '../../kit/registries/config-lines.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

const defaultProxy = 'https://proxy.golang.org,direct';
const defaultSumDatabase = 'sum.golang.org';

export function goOrigins(machine: MachineFiles, found: OriginList): void {
  const file = machine.env.GOENV ?? join(machine.env.XDG_CONFIG_HOME ?? join(machine.home, '.config'), 'go', 'env');
  const saved = new Map(configLines(machine.readText(file) ?? '').map(({ key, value }) => [key, value]));
  const setting = (name: string): string | undefined => machine.env[name] || saved.get(name) || undefined;
  for (const entry of (setting('GOPROXY') ?? defaultProxy).split(/[,|]/)) {
    const word = entry.trim();
    if (word !== '' && word !== 'direct' && word !== 'off') found.addUrl(word);
  }
  // `off`, or `name[+key] [url]`: without a URL the name is the host.
  const [name, url] = (setting('GOSUMDB') ?? defaultSumDatabase).trim().split(/\s+/);
  if (url) found.addUrl(url);
  else if (name && name !== 'off') found.addUrl(`https://${name.split('+', 1)[0]}`);
  // The public proxy answers with a redirect to this bucket for the archives themselves (golang/go#52908).
  if (found.has('proxy.golang.org')) found.addHttps('storage.googleapis.com', ['/proxy-golang-org-prod/**']);
}
