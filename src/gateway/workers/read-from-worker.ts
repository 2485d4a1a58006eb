// What a worker says, read before it is believed: its shape and its size. Each verb of `ToPrimary` has its reader here, so
// that none can be added without one. Records and counts are read by the audit room, which knows them.
import * as z from 'zod';
import type { BodyReaders } from './channel.ts';
import type { ToPrimary } from './worker-verbs.ts';

const name = z.string().min(1).max(512);
const amount = z.number().nonnegative();
const rate = z.strictObject({ perSecond: amount, burst: amount });
const registration = z.strictObject({
  id: name,
  claims: z.array(name).max(16),
  expiresAtMs: z.number(),
  body: z.string().max(1_048_576),
});
const addresses = z.array(z.string().max(128)).max(1024);
const secret = z.strictObject({
  name: z.string().max(1024),
  value: z.string().max(1_048_576),
  login: z.boolean(),
  expiresAtMs: z.number().nullable(),
});

const scheme = z.enum(['https', 'http']);
const port = z.int().min(0).max(65_535);
/** A path is cut to 1 KiB where a question is made, and what an agent writes where it is read. */
const text = z.string().max(8_192);
const asked = z.strictObject({
  sandbox: name,
  method: text,
  scheme,
  host: z.string().max(512),
  port,
  path: text,
  query: text.nullable(),
  rule: text,
  credential: z.string().max(1024).nullable(),
  effect: z.string().max(256).nullable(),
  repository: z.string().max(1024).nullable(),
  requestId: z.string().max(128).nullable(),
  reason: text.nullable(),
});
const accessRequest = z.strictObject({
  method: z.string().max(64),
  scheme,
  host: z.string().max(512),
  port,
  path: text,
  reason: text,
});

const shapes = {
  begin: z.null(),
  allConfirmed: z.null(),
  ready: z.strictObject({ proxies: addresses, mtls: addresses, gateways: addresses }),
  failed: z.strictObject({ message: z.string().max(65_536) }),
  beat: z.strictObject({
    openConnections: amount,
    openCircuits: amount,
    dialsOk: amount,
    dialsFailed: amount,
    unrecorded: amount,
    lost: amount,
    journal: z.strictObject({
      healthy: z.boolean(),
      reason: z.string().max(4096),
      seq: amount,
      queued: amount,
      files: amount,
      room: amount,
      head: z.strictObject({ seq: z.int().nonnegative(), hash: z.string().regex(/^[0-9a-f]{64}$/) }).nullable(),
      closed: z.boolean(),
    }),
  }),
  records: z.array(z.unknown()).max(1024),
  served: z.strictObject({
    counts: z.unknown(),
    sandboxes: z.array(z.tuple([name, amount, z.boolean()])).max(100_000),
    credentials: z.array(z.string().max(1024)).max(10_000),
  }),
  shown: z.strictObject({ seq: z.int().positive(), record: z.unknown() }),
  confirm: z.strictObject({ address: z.string().max(128) }),
  known: z.array(secret).max(10_000),
  load: z.null(),
  add: registration,
  replace: registration,
  remove: z.strictObject({ id: name }),
  extend: z.array(z.tuple([name, z.number()])).max(100_000),
  draw: z.strictObject({ key: name, rate, least: amount, wanted: amount }),
  giveBack: z.strictObject({ key: name, rate, amount }),
  spend: z.strictObject({ key: name, rate, amount: z.number() }),
  places: z.strictObject({ key: name, limit: amount, held: amount, wanted: amount }),
  tally: z.strictObject({ key: name, own: amount, keepMs: amount }),
  put: z.strictObject({ key: name, value: z.string().max(16 * 1024 ** 2), keepMs: z.number() }),
  get: z.strictObject({ key: name }),
  forget: z.strictObject({ key: name }),
  lock: z.strictObject({ name, waitMs: amount }),
  unlock: z.strictObject({ ticket: z.number() }),
  ask: z.strictObject({ number: z.int(), asked }),
  withdrawQuestion: z.strictObject({ number: z.int() }),
  refusalsOf: z.strictObject({ sandbox: name }),
  accessRequest: z.strictObject({ sandbox: name, accessRequest }),
  accessRequestsOf: z.strictObject({ sandbox: name }),
} satisfies { readonly [V in keyof ToPrimary]: z.ZodType<ToPrimary[V]['body']> };

export const readFromWorker = Object.fromEntries(
  Object.entries(shapes).map(([verb, shape]) => [verb, (body: unknown) => shape.parse(body)]),
) as unknown as BodyReaders<ToPrimary>;
