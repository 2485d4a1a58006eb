// maven (and gradle builds that use the same repositories): mirrors and repositories of settings.xml. Without a mirror
// of everything or of `central`, the central repository. Reads the few elements it needs; no entities, no includes.
import { join } from 'node:path';
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

const defaults = ['repo.maven.apache.org', 'repo1.maven.org'];

export function mavenOrigins(machine: MachineFiles, found: OriginList): void {
  let replaced = false;
  const home = machine.env.MAVEN_HOME ?? machine.env.M2_HOME;
  const files = [join(machine.home, '.m2', 'settings.xml'), ...(home ? [join(home, 'conf', 'settings.xml')] : [])];
  for (const path of [...files, '/etc/maven/settings.xml']) {
    // What is commented out (the shipped file is full of examples) does not count.
    const text = (machine.readText(path) ?? '').replace(/<!--[\s\S]*?-->/g, '');
    for (const mirror of elements(text, 'mirror')) {
      if (elements(mirror, 'blocked')[0]?.trim() === 'true') continue;
      const added = addUrlOf(mirror, found);
      const covers = (elements(mirror, 'mirrorOf')[0] ?? '').split(',').map((word) => word.trim());
      replaced ||=
        added && covers.some((word) => ['*', 'external:*', 'central'].includes(word)) && !covers.includes('!central');
    }
    for (const name of ['repository', 'pluginRepository']) {
      for (const repository of elements(text, name)) addUrlOf(repository, found);
    }
  }
  if (!replaced) for (const host of defaults) found.addHttps(host);
}

function addUrlOf(element: string, found: OriginList): boolean {
  const url = elements(element, 'url')[0]?.trim().replaceAll('&amp;', '&');
  return url !== undefined && found.addUrl(url);
}

function elements(text: string, name: string): string[] {
  const found: string[] = [];
  for (let from = text.indexOf(`<${name}>`); from >= 0; from = text.indexOf(`<${name}>`, from + 1)) {
    const end = text.indexOf(`</${name}>`, from);
    if (end < 0) break;
    found.push(text.slice(from + name.length + 2, end));
  }
  return found;
}
