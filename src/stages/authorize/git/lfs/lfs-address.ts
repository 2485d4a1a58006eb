// One action of a batch answer, read strictly: where the storage is, what it wants to see, and until when. Only https,
// only a name, no login in the address, no field that would change how the request is framed or to whom it goes.
import type { LfsAddress } from './lfs-tickets.ts';

interface RawAction {
  readonly href: string;
  readonly header?: Readonly<Record<string, string>> | null | undefined;
  readonly expires_in?: number | null | undefined;
  readonly expires_at?: string | null | undefined;
}

const maxHrefLength = 8 * 1024;
const maxHeaderFields = 32;
const maxHeaderLength = 16 * 1024;
const defaultLifeMs = 3600_000;
const maxLifeMs = 24 * 3600_000;

// Userinfo, address literals in brackets, fragments and backslashes have no place in it.
const address = /^https:\/\/([a-z0-9._-]+)(?::(\d{1,5}))?((?:[/?][\x21\x22\x24-\x5b\x5d-\x7e]*)?)$/i;
const dnsName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
/** 127.1, 0x7f000001 and 2130706433 are addresses to some resolver. */
const endsInNumber = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const fieldValue = /^[\x20-\x7e]*$/;
/** The gateway writes these itself. Some servers ask for Transfer-Encoding; the object goes out with its length instead. */
const ownFields = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);

/** Throws an Error whose message completes "an address that …" and quotes nothing of it. */
export function readLfsAddress({ href, header }: RawAction): LfsAddress {
  const parts = href.length > maxHrefLength ? null : address.exec(href);
  if (parts === null) throw new Error('is not a plain https address');
  const host = parts[1]!.toLowerCase();
  const port = parts[2] === undefined ? 443 : Number(parts[2]);
  if (!dnsName.test(host) || endsInNumber.test(host)) throw new Error('does not name a host');
  if (port < 1 || port > 65535) throw new Error('has no valid port');
  const rest = parts[3]!;
  const target = rest.startsWith('/') ? rest : `/${rest}`;
  return { origin: { scheme: 'https', host, port }, target, headers: readFields(header ?? {}) };
}

function readFields(header: Readonly<Record<string, string>>): [string, string][] {
  const given = Object.entries(header);
  const fields = given.filter(([name]) => !isOwn(name.toLowerCase()));
  const keys = new Set(fields.map(([name]) => name.toLowerCase()));
  const length = fields.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (keys.size < fields.length) throw new Error('comes with a field that stands there twice');
  if (given.length > maxHeaderFields || length > maxHeaderLength) throw new Error('comes with too many fields');
  for (const [name, value] of fields) {
    if (!token.test(name) || !fieldValue.test(value)) throw new Error('comes with a field that cannot be sent');
  }
  return fields;
}

function isOwn(key: string): boolean {
  return ownFields.has(key) || key.startsWith('proxy-');
}

/** When the address ends, by our clock: never later than the storage says, nor than a day from now. */
export function expiryOf({ expires_in, expires_at }: RawAction, nowMs: number): number {
  const end = typeof expires_in === 'number' && expires_in !== 0 ? nowMs + expires_in * 1000 : instantOf(expires_at);
  return Math.max(0, Math.min(end ?? nowMs + defaultLifeMs, nowMs + maxLifeMs));
}

function instantOf(text: string | null | undefined): number | null {
  if (text == null) return null;
  const instant = Date.parse(text);
  // Servers written in Go say "none" with the first moment of the year 1.
  return Number.isNaN(instant) || instant <= 0 ? null : instant;
}
