// A transparent connection must have gone to the address that its sandbox was given for the name it says, and to no other:
// an address of the world, or that of another name, is refused in words. In a namespace each name has an address of its
// own; on an internal network all have that of the door. // Guards: threats.md T5
import { isIP } from 'node:net';
import { isSynthetic, isSyntheticFor } from '../../../kit/synthetic-address.ts';
import type { RawRequest } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';

export interface Destination {
  readonly address: string;
  readonly port: number;
  /** It is the address of some name. */
  readonly isSynthetic: boolean;
}

// Every request of a connection asks the same, and the answers cost a hash; the memos are emptied rather than grown.
const destinations = new Map<string, Destination>();
const pairs = new Map<string, boolean>();
const maxKnown = 2048;

/** Reads `address:port` and `[address]:port`, as our own doors write them. */
export function parseDestination(text: string): Destination {
  return remember(destinations, text, () => {
    const colon = text.lastIndexOf(':');
    const address = text.slice(0, colon).replace(/^\[|\]$/g, '');
    const port = Number(text.slice(colon + 1));
    if (isIP(address) === 0 || !Number.isInteger(port)) throw new Error(`${text} is not a destination`);
    return { address, port, isSynthetic: isSynthetic(address) };
  });
}

/** Whatever name it says: an address that no name was given leads nowhere. Looked at before the name is. */
export function refuseBareAddress(request: RawRequest, destination: Destination): void {
  const { doorAddress } = request;
  const wasGiven = doorAddress === undefined ? destination.isSynthetic : destination.address === doorAddress;
  if (!wasGiven) throw bareAddress(destination.address);
  // Names are given to addresses one way only: which one was meant cannot be found again.
  if (request.kind === 'http' && request.scheme === 'https' && request.sni === null) {
    throw new Refusal('target.literal-address', 'the TLS handshake names no host (SNI), only an address', {
      rule: namesOnly,
      hint: 'Use the name of the host in the URL, with a client that sends it in the TLS handshake.',
    });
  }
}

export function refuseOtherAddress({ doorAddress }: RawRequest, host: string, { address }: Destination): void {
  // There every name has this one address, and it was looked at before.
  if (doorAddress !== undefined) return;
  if (remember(pairs, `${host} ${address}`, () => isSyntheticFor(host, address))) return;
  throw new Refusal(
    'target.literal-address',
    `the connection went to ${address}, which is not the address of ${host} here`,
    {
      rule: namesOnly,
      hint: 'Let the client look up the name inside this sandbox: only the address it gets there leads to the host.',
    },
  );
}

function bareAddress(address: string): Refusal {
  return new Refusal('target.literal-address', `${address} is an address: use the name of the host`, {
    rule: namesOnly,
    hint: 'Addresses are never reached directly. Use the host name that is on the allowlist.',
  });
}

const namesOnly = 'built-in: names only';

function remember<T>(memo: Map<string, T>, key: string, find: () => T): T {
  const known = memo.get(key);
  if (known !== undefined) return known;
  const found = find();
  if (memo.size >= maxKnown) memo.clear();
  memo.set(key, found);
  return found;
}
