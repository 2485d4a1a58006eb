// What a client may ask for in the first line of a push. The list is read as git reads it where it matters, and refused
// where two servers could read it differently: git splits at any white space, and takes `name=anything` for `name`.
import { GitWireError } from './git-wire-error.ts';

/** Every capability a client can send to receive-pack, and whether it carries a value. */
export const knownCapabilities: ReadonlyMap<string, 'flag' | 'value'> = new Map([
  ['report-status', 'flag'],
  ['report-status-v2', 'flag'],
  ['delete-refs', 'flag'],
  ['ofs-delta', 'flag'],
  ['side-band', 'flag'],
  ['side-band-64k', 'flag'],
  ['quiet', 'flag'],
  ['atomic', 'flag'],
  ['push-options', 'flag'],
  ['no-thin', 'flag'],
  ['agent', 'value'],
  ['session-id', 'value'],
  ['object-format', 'value'],
]);

export interface PushCapabilities {
  /** As they were sent, e.g. `report-status`, `agent=git/2.39.5`. */
  readonly all: ReadonlySet<string>;
  readonly unknown: readonly string[];
  readonly agent: string | null;
}

export const noCapabilities: PushCapabilities = { all: new Set(), unknown: [], agent: null };

const printable = /^[\x20-\x7e]*$/;

export function readCapabilities(text: string): PushCapabilities {
  if (!printable.test(text)) throw new GitWireError('malformed', 'a capability list that is not printable ASCII');
  const all = new Set<string>();
  const names = new Set<string>();
  const unknown: string[] = [];
  let agent: string | null = null;
  for (const word of text.split(' ')) {
    if (word === '') continue;
    const equals = word.indexOf('=');
    const name = equals < 0 ? word : word.slice(0, equals);
    const value = equals < 0 ? null : word.slice(equals + 1);
    if (names.has(name)) throw new GitWireError('malformed', 'a capability is named twice');
    names.add(name);
    all.add(word);
    const form = knownCapabilities.get(name);
    if (form === undefined) unknown.push(word);
    else if ((form === 'value') !== (value !== null)) {
      throw new GitWireError('malformed', `the capability ${name} ${form === 'flag' ? 'takes no' : 'needs a'} value`);
    }
    if (name === 'agent') agent = value;
    // The ids below would be of another length, and our reading of the pack is of SHA-1 objects.
    if (name === 'object-format' && value !== 'sha1') {
      throw new GitWireError('unsupported', 'a push with an object format other than sha1');
    }
  }
  return { all, unknown, agent };
}
