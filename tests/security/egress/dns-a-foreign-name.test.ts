import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isSynthetic } from '../../../src/kit/synthetic-address.ts';
import { type DnsGround, openDnsGround, questionOf, readReply } from '../../support/dns-ground.ts';
import { type DnsPath, openDnsPath } from '../../support/dns-path.ts';

let path: DnsPath;
let ground: DnsGround;

beforeAll(async () => {
  path = await openDnsPath({ allow: [{ host: 'api.example.com' }, { host: '*.corp.example.com' }] });
  ground = await openDnsGround((name) => path.lookup(name, 'A'));
});

afterAll(() => ground.close());

async function ask(name: string): Promise<{ rcode: number; addresses: string[] }> {
  const reply = readReply(await ground.udp(questionOf(name)));
  return {
    rcode: reply.rcodeNumber,
    addresses: (reply.answers ?? []).map((answer) => ('data' in answer ? String(answer.data) : '')),
  };
}

describe('a name that the policy does not name has no address', () => {
  test.each([
    'evil.example',
    'example.com',
    'corp.example.com',
    'api.example.com.evil.example',
    'api.example.com.lan',
    'xapi.example.com',
    'api-example.com',
    'metadata.google.internal',
    'host.docker.internal',
    'wpad',
    'sallyport',
    'localhost.evil.example',
    'evillocalhost',
    '127.0.0.1',
    '169.254.169.254',
  ])('%s', async (name) => {
    expect(await ask(name)).toEqual({ rcode: 3, addresses: [] });
  });

  test('and one that it names has an address of ours, never a real one', async () => {
    for (const name of ['api.example.com', 'deep.below.corp.example.com']) {
      const { rcode, addresses } = await ask(name);
      expect(rcode).toBe(0);
      expect(addresses.map(isSynthetic)).toEqual([true]);
    }
  });

  test('each no is in the journal once, with the name', () => {
    const hosts = path.records.map(({ host }) => host.replace('/A', ''));
    expect(hosts).toContain('evil.example');
    expect(hosts).toContain('metadata.google.internal');
    expect(new Set(hosts).size).toBe(hosts.length);
    expect(path.records.every(({ verdict, sandbox }) => verdict === 'refused' && sandbox !== undefined)).toBe(true);
  });
});
