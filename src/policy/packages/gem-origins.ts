// gem and bundler: sources of the gemrc, mirrors of bundler's configuration. Without any, rubygems.org.
import { join } from 'node:path';
import { unquote } from '../../kit/registries/config-lines.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

const defaults = ['rubygems.org', 'index.rubygems.org'];

export function gemOrigins(machine: MachineFiles, found: OriginList): void {
  let named = false;
  for (const path of gemrcFiles(machine)) {
    for (const url of gemrcSources(machine.readText(path) ?? '')) named = found.addUrl(url) || named;
  }
  const bundle = machine.env.BUNDLE_USER_HOME ?? join(machine.home, '.bundle');
  const settings = Object.entries(machine.env).map(([key, value]): [string, string] => [key, value ?? '']);
  for (const line of (machine.readText(join(bundle, 'config')) ?? '').split(/\r?\n/)) {
    // BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "https://gems.example/" (the key holds colons, the value follows a space)
    const pair = /^(BUNDLE_[^\s]+):\s+(.+)$/.exec(line);
    if (pair) settings.push([pair[1]!, unquote(pair[2]!)]);
  }
  for (const [key, value] of settings) {
    if (!/^BUNDLE_MIRROR__/.test(key) || /FALLBACK_TIMEOUT/.test(key)) continue;
    const replacesDefault = /^BUNDLE_MIRROR__(?:ALL|HTTPS?:\/\/RUBYGEMS__ORG\/?)$/.test(key);
    named = (found.addUrl(value) && replacesDefault) || named;
  }
  if (!named) found.addHttps(defaults[0]!);
  if (found.has(defaults[0]!)) for (const host of defaults) found.addHttps(host);
}

function gemrcFiles(machine: MachineFiles): string[] {
  const config = machine.env.XDG_CONFIG_HOME ?? join(machine.home, '.config');
  const files = [join(machine.home, '.gemrc'), join(config, 'gem', 'gemrc'), '/etc/gemrc'];
  return machine.env.GEMRC ? [...machine.env.GEMRC.split(':'), ...files] : files;
}

/** The list under `:sources:`, in block or flow form. */
function gemrcSources(text: string): string[] {
  const urls: string[] = [];
  let inSources = false;
  for (const line of text.split(/\r?\n/)) {
    const start = /^:?sources:\s*(.*)$/.exec(line);
    if (start) {
      inSources = true;
      for (const word of start[1]!.split(/[\s,[\]]+/)) if (word !== '') urls.push(unquote(word));
    } else if (inSources) {
      const item = /^\s*-\s*(\S.*)$/.exec(line);
      if (item) urls.push(unquote(item[1]!));
      else if (/^\S/.test(line) && !line.startsWith('#')) inSources = false;
    }
  }
  return urls;
}
