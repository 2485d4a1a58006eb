// A name that is not allowed has an address in `run`, where its client is refused in words (ADR 049). That must be no
// permission and no second reading of an allowed name, and only such a no may be answered so.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../../src/kit/synthetic-address.ts';
import { type DnsGround, openDnsGround, questionOf, readReply } from '../../support/dns-ground.ts';
import { type DnsPath, openDnsPath } from '../../support/dns-path.ts';

let path: DnsPath;
let ground: DnsGround;

beforeAll(async () => {
  path = await openDnsPath({ allow: [{ host: 'api.example.com' }, { host: '*.corp.example.com' }] }, true);
  ground = await openDnsGround((name) => path.lookup(name, 'A'));
});

afterAll(() => ground.close());

async function ask(name: string, type: 'A' | 'AAAA' | 'MX' | 'HTTPS' | 'TXT' = 'A') {
  const reply = readReply(await ground.udp(questionOf(name, type)));
  const addresses = (reply.answers ?? []).map((answer) => ('data' in answer ? String(answer.data) : ''));
  return { rcode: reply.rcodeNumber, addresses };
}

test('a well-formed name has the address of the door that is its own, and the question is written down once', async () => {
  const { v4, v6 } = syntheticAddresses('evil.example');
  expect(await ask('evil.example')).toEqual({ rcode: 0, addresses: [v4] });
  expect(await ask('evil.example', 'AAAA')).toEqual({ rcode: 0, addresses: [v6] });
  for (const type of ['MX', 'HTTPS'] as const)
    expect(await ask('evil.example', type)).toEqual({ rcode: 0, addresses: [] });
  expect(await ask('evil.example', 'TXT')).toEqual({ rcode: 5, addresses: [] });
  expect(path.records.filter(({ host }) => host === 'evil.example')).toMatchObject([
    { verdict: 'refused', code: 'domain.not-allowed', sandbox: path.id },
  ]);
});

describe('has no address all the same', () => {
  test.each([
    'wpad',
    'sallyport',
    'metadata.google.internal',
    'host.docker.internal',
    'printer.local',
    'nas.lan',
    'nowhere.invalid',
    'hidden.onion',
    'app.test',
    'use-application-dns.net',
    '127.0.0.1',
    '169.254.169.254',
    'api.example.com.evil.example',
    'api.example.com.lan',
    'one.corp.example.com.search.example',
    'under_score.evil.example.1',
  ])('%s', async (name) => {
    expect(await ask(name)).toEqual({ rcode: 3, addresses: [] });
  });
});

test('whoever is no longer registered is told nothing, and neither is anybody while the journal is broken', async () => {
  const other = await openDnsPath({}, true);
  expect(other.lookup('evil.example', 'A')).toBe('in-words');
  other.journalFault = new Error('disk full');
  expect(other.lookup('evil.example', 'A')).toBe(false);
  other.journalFault = null;
  await other.registry.remove(other.id);
  expect(other.lookup('evil.example', 'A')).toBe(false);
  expect(other.lookup('other.example', 'A')).toBe(false);
});
