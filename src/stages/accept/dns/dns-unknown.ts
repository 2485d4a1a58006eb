// Which names that are not allowed have an address all the same, at the door of one sandbox: so that its client comes to the
// door and reads there, inside TLS, why not (ADR 049). The address is computed from the name: nothing is kept, nothing is
// asked, and it is no permission. What exists only on networks of a host stays unknown.

/** Names that no resolver may find, or that mean something on the machine or network of the host alone (RFC 6761, 6762, 7686, 9476). */
const localOnly = new Set(['alt', 'arpa', 'home', 'internal', 'invalid', 'lan', 'local', 'localhost', 'onion', 'test']);
/** Firefox asks for it to learn whether it may bring a resolver of its own: an address would say that it may. */
const canary = 'use-application-dns.net';
/** So many beginnings of a name are looked at: names of hosts are far shorter. */
const maxBeginnings = 8;

/** `isAllowed`: may this other name be known. */
export function isToldInWords(name: string, isAllowed: (name: string) => boolean): boolean {
  const plain = name.toLowerCase().replace(/\.$/, '');
  const labels = plain.split('.');
  if (labels.length < 2 || localOnly.has(labels.at(-1)!) || plain === canary) return false;
  // A resolver that puts its search domain behind an allowed name must go on to the name itself.
  for (let length = 2; length < Math.min(labels.length, 2 + maxBeginnings); length++) {
    if (isAllowed(labels.slice(0, length).join('.'))) return false;
  }
  return true;
}
