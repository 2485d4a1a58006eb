// apt: the servers in sources.list, in both of its forms. No server is named here: without a configuration the preset
// adds none and says so.
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

const directory = '/etc/apt/sources.list.d';

export function aptOrigins(machine: MachineFiles, found: OriginList): void {
  addOneLine(machine.readText('/etc/apt/sources.list') ?? '', found);
  for (const name of machine.listDirectory(directory)) {
    const text = machine.readText(`${directory}/${name}`) ?? '';
    if (name.endsWith('.list')) addOneLine(text, found);
    else if (name.endsWith('.sources')) addDeb822(text, found);
  }
  if (found.origins.length === 0) {
    found.warn(
      '/etc/apt names no server: add the host of your mirror to `allow`, with `plain_http: true` if it is http',
    );
  }
}

/** `deb [arch=amd64 signed-by=…] http://mirror.example/debian suite component` */
function addOneLine(text: string, found: OriginList): void {
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S+)/.exec(line);
    if (match) found.addUrl(match[1]!);
  }
}

/** Paragraphs of `Field: value`; `URIs` may go on over indented lines. */
function addDeb822(text: string, found: OriginList): void {
  for (const paragraph of text.split(/\r?\n[ \t]*\r?\n/)) {
    const fields = new Map<string, string>();
    let last = '';
    for (const line of paragraph.split(/\r?\n/)) {
      if (line.startsWith('#')) continue;
      const field = /^([A-Za-z-]+):\s*(.*)$/.exec(line);
      if (field) {
        last = field[1]!.toLowerCase();
        fields.set(last, field[2]!);
      } else if (/^\s/.test(line) && last !== '') {
        fields.set(last, `${fields.get(last) ?? ''} ${line.trim()}`);
      }
    }
    if (/^(?:no|false|0|off|without|disable)$/i.test(fields.get('enabled')?.trim() ?? '')) continue;
    for (const url of (fields.get('uris') ?? '').split(/\s+/)) if (url !== '') found.addUrl(url);
  }
}
