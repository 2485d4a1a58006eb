// Names on the wire: object ids and refs. A ref is believed only in the form that `git check-ref-format` accepts, and
// only as UTF-8, because a name that two readers could see differently cannot be judged, reported or written down.
import { isUtf8 } from 'node:buffer';
import { GitWireError } from './git-wire-error.ts';

export const zeroId = '0'.repeat(40);

const objectId = /^[0-9a-f]{40}$/;

/** A SHA-1 object id as git writes it. */
export function isObjectId(text: string): boolean {
  return objectId.test(text);
}

/** Same answer as `git check-ref-format NAME`. */
export function isRefName(name: string): boolean {
  return name.includes('/') && !name.endsWith('.') && name.split('/').every(isComponent) && !name.includes('@{');
}

function isComponent(component: string): boolean {
  if (component === '' || component.startsWith('.') || component.endsWith('.lock')) return false;
  if (component.includes('..')) return false;
  for (let i = 0; i < component.length; i++) {
    const code = component.charCodeAt(i);
    if (code <= 0x20 || code === 0x7f || forbidden.has(code)) return false;
  }
  return true;
}

const forbidden = new Set(Array.from('~^:?*[\\', (character) => character.charCodeAt(0)));

/** The text of a line that must be UTF-8 and hold no NUL. */
export function decodeText(bytes: Buffer, what: string): string {
  if (!isUtf8(bytes)) throw new GitWireError('unsupported', `${what} is not UTF-8`);
  if (bytes.includes(0)) throw new GitWireError('malformed', `${what} holds a NUL byte`);
  return bytes.toString('utf8');
}
