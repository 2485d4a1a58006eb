// The sections `limits` and `budgets`: bounds and defaults. The same keys stand for one sandbox (at the top), for one
// credential and for the whole gateway. Never reads a file.
import * as z from 'zod';
import { strictKeys, wholeNumber } from './schema.ts';

const maxInteger = 2 ** 31 - 1;
const bytes = wholeNumber(0, Number.MAX_SAFE_INTEGER);

/** 0: no limit. `burst` left out: one minute's worth. */
const useKeys = (requestsPerMinute: number, concurrent: number, pushes: number) => ({
  requests_per_minute: wholeNumber(requestsPerMinute === 0 ? 0 : 1, maxInteger).default(requestsPerMinute),
  burst: wholeNumber(1, maxInteger).optional(),
  concurrent_requests: wholeNumber(concurrent === 0 ? 0 : 1, 1_000_000).default(concurrent),
  upload_bytes_per_minute: bytes.default(0),
  download_bytes_per_minute: bytes.default(0),
  pushes_per_minute: wholeNumber(0, maxInteger).default(pushes),
});

const doorKeys = (connections: number, perSecond: number, dns: number) => ({
  connections: wholeNumber(1, 1_000_000).default(connections),
  connections_per_second: wholeNumber(0, 1_000_000).default(perSecond),
  dns_per_second: wholeNumber(0, 1_000_000).default(dns),
});

export const limitsSection = strictKeys({
  ...useKeys(6000, 256, 60),
  ...doorKeys(1024, 200, 100),
  credential: strictKeys(useKeys(0, 0, 0)).prefault({}),
  gateway: strictKeys({ ...useKeys(0, 8192, 0), ...doorKeys(16_384, 2000, 2000) }).prefault({}),
  head_bytes: wholeNumber(1024, 1_048_576).default(65_536),
  request_body_bytes: bytes.default(0),
  response_body_bytes: bytes.default(0),
  push_bytes: wholeNumber(1024, Number.MAX_SAFE_INTEGER).default(2 * 1024 ** 3),
  spool_bytes: wholeNumber(1024, Number.MAX_SAFE_INTEGER).default(8 * 1024 ** 3),
  connect_timeout_ms: wholeNumber(1, maxInteger).default(10_000),
  client_head_timeout_ms: wholeNumber(1, maxInteger).default(30_000),
  // An LLM may think for minutes before the first byte of its answer.
  headers_timeout_ms: wholeNumber(1, maxInteger).default(600_000),
  idle_timeout_ms: wholeNumber(1, maxInteger).default(600_000),
  request_timeout_ms: wholeNumber(0, maxInteger).default(0),
});

export type UseKeys = z.output<z.ZodObject<ReturnType<typeof useKeys>>>;
export type DoorKeys = z.output<z.ZodObject<ReturnType<typeof doorKeys>>>;

const amount = 'write a number of US dollars, such as 20 or 0.5';
const dollars = z.number({ error: amount }).min(0, { error: amount }).max(1_000_000_000, { error: amount });
const spending = strictKeys({
  tokens: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
  dollars: dollars.default(0),
}).prefault({});

const modelPattern = z.string().regex(/^[\w.:/@*-]{1,128}$/, {
  error: 'write the name of a model, or a pattern such as "claude-sonnet-*"',
});

/** US dollars for a million tokens. What a cache saves or costs is left out: as much as input. */
export const priceKeys = strictKeys({
  input: dollars,
  output: dollars,
  cache_read: dollars.optional(),
  cache_write: dollars.optional(),
});

export const budgetsSection = strictKeys({
  period: z.enum(['hour', 'day', 'week', 'month'], { error: 'write hour, day, week or month' }).default('day'),
  sandbox: spending,
  credential: spending,
  gateway: spending,
  prices: z.record(modelPattern, priceKeys, { error: 'write a map of models and prices' }).default({}),
});
