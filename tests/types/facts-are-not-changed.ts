// What must not compile: a stage that changes what another has learned. Where a stage has its own form of something, that is
// a fact of its own (the wrappers of the exchange, `judgedFields`, `renewed`). Checked by `npm run types`.
import { enrich } from '../../src/path/enrich.ts';
import type { Exchange } from '../../src/path/exchange/exchange.ts';
import type { OutgoingRequest } from '../../src/path/exchange/outgoing-request.ts';
import { addWrapper } from '../../src/path/exchange/wrappers.ts';
import type { Arrived, Authorized, Identified, Injected, Permission, RawRequest } from '../../src/path/flow.ts';
import type { Sandbox } from '../../src/path/sandbox.ts';
import { granted } from '../../src/path/stamps/granted.ts';
import { proven } from '../../src/path/stamps/proven.ts';

declare const arrived: Arrived;
declare const identified: Identified;
declare const authorized: Authorized;
declare const injected: Injected;
declare const exchange: Exchange;
declare const request: RawRequest;
declare const sandbox: Sandbox;
declare const permission: Permission;
declare const outgoing: OutgoingRequest;

// What is new passes, and so does a note that grows, so that an error below is about the change.
enrich(identified, { permission: granted(permission), judgedFields: request.headers });
enrich(identified, { asked: 'receive-pack acme/widgets' });
addWrapper(identified, 'paced', (inner) => inner);

// @ts-expect-error the client's end is what arrived
enrich(arrived, { exchange });
// @ts-expect-error the request is what was read
enrich(identified, { request });
// @ts-expect-error also beside what is new
enrich(identified, { permission: granted(permission), request });
// @ts-expect-error who it is was proven once
enrich(authorized, { sandbox: proven(sandbox) });
// @ts-expect-error what may be done was decided once
enrich(authorized, { permission: granted(permission) });
// @ts-expect-error a second try goes out beside the first
enrich(injected, { outgoing });
// @ts-expect-error a wrapper has a place in the order, or there is none
addWrapper(identified, 'whatever', (inner) => inner);
// @ts-expect-error the end of the client is no wrapper
addWrapper(identified, 'exchange', (inner) => inner);
