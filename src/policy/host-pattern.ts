// Host patterns: an exact name, or `*.name` for its subdomains at any depth, never the apex. Reads what a person
// wrote into the same canonical form the requests have (lower case, IDNA). Never accepts an address, in any spelling.
import { domainToASCII } from 'node:url';
import { insideHost } from '../path/inside-host.ts';
import type { HostPattern } from './compiled.ts';
import type { Parsed } from './schema/parsed.ts';

const dnsName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
// WHATWG URL "ends in a number": 127.1, 0x7f000001, 017700000001 and 2130706433 are addresses to some resolver.
const endsInNumber = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** A name without wildcard, in canonical form. */
export function parseHostName(text: string): Parsed<string> {
  if (text === '') return { problem: 'a host name is missing: write one such as api.example.com' };
  if (text !== text.trim() || /\s/.test(text)) return { problem: 'a host name holds no spaces' };
  if (text.includes('://') || text.includes('/')) {
    return { problem: 'write the host name alone, without scheme and path (paths go under `paths`)' };
  }
  if (text.includes('*')) return { problem: 'a wildcard is not allowed here: write the full host name' };
  if (text.startsWith('[') || text.split(':').length > 2) return { problem: addressProblem };
  if (text.includes(':')) return { problem: 'write the host name without a port (ports go under `ports`)' };
  if (text.endsWith('.')) return { problem: 'write the host name without the trailing dot' };
  const lower = text.toLowerCase();
  if (lower.includes('%')) return { problem: 'a host name is written without percent-encoding' };
  if (endsInNumber.test(lower)) return { problem: addressProblem };
  // Full-width digits and dots become an address only after IDNA, so the check is made on both sides of it.
  const ascii = /^[\x21-\x7e]*$/.test(lower) && !lower.includes('xn--') ? lower : domainToASCII(lower);
  if (endsInNumber.test(ascii)) return { problem: addressProblem };
  if (ascii === insideHost)
    return { problem: `${insideHost} is the gateway's own page and always answers: leave it out` };
  if (!dnsName.test(ascii)) return { problem: 'this is not a host name: write one such as api.example.com' };
  return { value: ascii };
}

/** A name, or `*.` and a name of at least two labels. */
export function parseHostPattern(text: string): Parsed<HostPattern> {
  if (text === '*') return { problem: '`*` would allow the whole internet: name the hosts, or `*.example.com`' };
  if (!text.startsWith('*.')) {
    if (text.includes('*')) {
      return { problem: 'a wildcard stands only at the front and for whole labels: write `*.example.com`' };
    }
    const name = parseHostName(text);
    return 'problem' in name ? name : { value: exactHost(name.value) };
  }
  const rest = text.slice(2);
  if (rest.includes('*')) return { problem: 'only one wildcard, at the front: write `*.example.com`' };
  const name = parseHostName(rest);
  if ('problem' in name) return name;
  if (!name.value.includes('.')) {
    return { problem: `\`*.${name.value}\` would cover everyone's names under .${name.value}: name a domain of yours` };
  }
  return { value: wildcardHost(name.value) };
}

/** Every name. Never an address: those are not names. */
export const anyHost: HostPattern = { text: '*', covers: () => true };

export function exactHost(name: string): HostPattern {
  return { text: name, covers: (host) => host === name };
}

function wildcardHost(apex: string): HostPattern {
  const suffix = `.${apex}`;
  // The dot is part of the suffix, so neither the apex nor `evil-example.com` can match; the length check keeps
  // an empty label (`.example.com`) out.
  return { text: `*${suffix}`, covers: (host) => host.length > suffix.length && host.endsWith(suffix) };
}

const addressProblem =
  'addresses are never allowed directly: write a host name, and give it an address under `upstream.resolve`';
