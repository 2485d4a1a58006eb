// What must not compile: facts of a stage written down by hand. Only the stamps of src/path/stamps/ state them, and
// scripts/rooms.cjs says who may use which. Checked by `npm run types`.
import type { OutgoingRequest } from '../../src/path/exchange/outgoing-request.ts';
import type {
  Accepted,
  Arrived,
  Authorized,
  CanonicalRequest,
  Identified,
  Injected,
  Permission,
} from '../../src/path/flow.ts';
import type { Sandbox } from '../../src/path/sandbox.ts';
import { accepted } from '../../src/path/stamps/accepted.ts';
import { granted } from '../../src/path/stamps/granted.ts';
import { proven } from '../../src/path/stamps/proven.ts';

declare const arrived: Arrived;
declare const canonical: CanonicalRequest;
declare const sandbox: Sandbox;
declare const permission: Permission;
declare const outgoing: OutgoingRequest;

// With their stamps they pass, so that an error below is about the stamp.
const read: Accepted = { ...arrived, canonical: accepted(canonical) };
const known: Identified = { ...read, sandbox: proven(sandbox) };
const allowed: Authorized = { ...known, permission: granted(permission) };
const ready: Injected = { ...allowed, outgoing, injected: null };

// @ts-expect-error a reading of somebody else's
const notRead: Accepted = { ...arrived, canonical };
// @ts-expect-error a sandbox that nobody has proven
const notKnown: Identified = { ...read, sandbox };
// @ts-expect-error a permission that nobody has granted
const notAllowed: Authorized = { ...known, permission };
// @ts-expect-error what one stage has stated is nothing for another
const mixedUp: Authorized = { ...known, permission: proven(sandbox) };
// @ts-expect-error a request that goes out is made by inject/ alone, and is no literal
const notReady: Injected = { ...allowed, outgoing: { target: '/', headers: outgoing.headers }, injected: null };

export const used = [ready, notRead, notKnown, notAllowed, mixedUp, notReady];
