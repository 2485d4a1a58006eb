// What a gateway and its Redis must agree on before they work together: whose store it is, what its user may do, and that it
// keeps what it was given. What makes it useless is an error that says what to do; what only makes it worse is a warning.
import type { RedisScript } from './redis-scripts.ts';
import { tryEverything } from './redis-scripts.ts';

/** Certificates that are made by one gateway and relied on at the others are valid for minutes to hours. */
const mostApartSeconds = 30;

/** Nothing a gateway could wait for. */
export class CannotJoin extends Error {
  override readonly name = 'CannotJoin';
}

/** The name of the key, and the folder of the CA in the home of a gateway. */
export type CommonCa = 'ca' | 'identity-ca';

export interface StoreToJoin {
  readonly prefix: string;
  /** For people. */
  readonly text: string;
  command(...args: (string | number)[]): Promise<unknown>;
  run(script: RedisScript, ...args: (string | number)[]): Promise<unknown>;
}

/**
 * All gateways of a store share their CAs: without the same one they could not read each other (`ca`), nor know each
 * other's sandboxes by certificate (`identity-ca`). The first one there decides.
 */
export async function agreeOnCa({ prefix, text, command }: StoreToJoin, which: CommonCa, own: string): Promise<void> {
  await command('SET', prefix + which, own, 'NX');
  const there = await command('GET', prefix + which);
  if (there === own) return;
  const what = which === 'ca' ? 'another CA' : 'another CA for sandboxes that prove themselves by certificate';
  throw new CannotJoin(
    `the store ${text} belongs to gateways with ${what} (${String(there)}; this one has ${own}): copy the folder ${which}/ of ` +
      'one of them into the home of this gateway, or give this one a store.prefix of its own. If no other gateway uses it ' +
      `any more, delete all keys that begin with ${prefix}`,
  );
}

/** Rejects when a right is missing. Else what the operator should change. */
export async function tryStore(store: StoreToJoin, instance: string, nowMs: number): Promise<string[]> {
  const reply = (await store.run(tryEverything, store.prefix, instance)) as unknown[];
  const [seconds, maxMemory, policy] = reply.map(String);
  const apart = Math.round(Math.abs(nowMs / 1000 - Number(seconds)));
  return [
    ...(apart > mostApartSeconds
      ? [`its clock and that of this gateway are ${apart} s apart: registrations end too early or too late`]
      : []),
    // Without a limit of memory nothing is thrown away; where it may not be asked, docs/store.md has said it.
    ...(Number(maxMemory) > 0 && policy !== 'noeviction'
      ? [`it throws keys away when it is full (maxmemory-policy ${policy}), sandboxes too: set it to noeviction`]
      : []),
  ];
}

export function adviceFor(reason: string): string {
  if (/WRONGPASS|NOAUTH/.test(reason)) return 'Check the user in store.url and the source in store.password.';
  if (/NOPERM|script can't/.test(reason)) return 'Give the user the rights that docs/store.md lists.';
  if (/READONLY/.test(reason)) return 'It is a replica: store.url must lead to the Redis that takes changes.';
  if (/DB index/.test(reason)) return 'Check the number of the database at the end of store.url.';
  if (/certificate|altnames|self.signed|SSL|TLS/i.test(reason))
    return 'Check store.ca, and that the name in store.url is in its certificate.';
  return 'See that Redis runs there and can be reached from here; without a store section this gateway works alone.';
}
