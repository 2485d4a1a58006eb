// The section `store`: a Redis that several gateways share, as an address alone or with what it takes to reach it. Never a
// password: where one is needed, it has a source. Never reads a file.
import * as z from 'zod';
import type { Parsed } from './parsed.ts';
import { strictKeys, textRead, wholeNumber, yesOrNo } from './schema.ts';
import { plainSource } from './source-schema.ts';

export interface StoreAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly user: string | null;
  readonly database: number;
  readonly text: string;
}

const example = 'redis://redis.example.com:6379/0 (rediss:// with TLS)';

export function parseStoreUrl(text: string): Parsed<StoreAddress> {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { problem: `write ${example}` };
  }
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') return { problem: `write ${example}` };
  if (url.password !== '') {
    return { problem: 'a password is never written into this file: write store: {url: …, password: {file: /path}}' };
  }
  const database = /^\/?(\d{1,3})?$/.exec(url.pathname);
  if (url.hostname === '' || database === null || url.search !== '' || url.hash !== '') {
    return { problem: `write ${example}` };
  }
  const user = decoded(url.username);
  if (user === null) return { problem: 'the user before the @ is not percent-encoded as a URL has it' };
  const port = url.port === '' ? 6379 : Number(url.port);
  const address = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port,
    tls: url.protocol === 'rediss:',
    user: user === '' ? null : user,
    database: Number(database[1] ?? 0),
  };
  return { value: { ...address, text: `${url.protocol}//${url.hostname}:${port}/${address.database}` } };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const storeUrl = textRead(parseStoreUrl, example);

const storeKeys = strictKeys({
  url: storeUrl,
  password: plainSource.optional(),
  /** Checked with the roots of `upstream`. */
  ca: z.unknown().optional(),
  prefix: z
    .string({ error: 'write a text' })
    .regex(/^[\w:.{}-]{1,64}$/, { error: 'write letters, digits and : . - _, such as "sallyport:"' })
    .default('sallyport:'),
  grace_seconds: wholeNumber(0, 86_400).default(300),
  shared_addresses: yesOrNo.default(false),
});

/** `redis://…` alone, or a map with `url`. */
export const storeSection = z.preprocess((value) => (typeof value === 'string' ? { url: value } : value), storeKeys);
