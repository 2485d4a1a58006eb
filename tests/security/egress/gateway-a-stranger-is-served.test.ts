// Must not happen: who is on the network of the sandboxes but is not registered learns a name, reaches a host, or uses the
// door against a third party.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressesIn, questionOf, readReply, typeNumbers } from '../../support/dns-ground.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type LoopbackNetwork, openLoopbackNetwork, refusalIn } from '../../support/loopback-network.ts';
import { makeTestCa } from '../../support/test-ca.ts';

const host = 'api.example.com';
const pinned = 'app.pinned.example';
const farCa = makeTestCa();
let upstream: FakeUpstream;
let network: LoopbackNetwork;

beforeAll(async () => {
  upstream = await startFakeUpstream(farCa, [host, pinned]);
  network = await openLoopbackNetwork(2, {
    allow: [
      { host, plain_http: true, ports: [80, 443] },
      { host: pinned, tunnel: true },
    ],
    upstream: { resolve: { [host]: upstream.address, [pinned]: upstream.address }, ca: farCa.path },
  });
});

afterAll(async () => {
  await network.stop();
  await upstream.close();
});

const get = (named: string): string => `GET /stranger HTTP/1.1\r\nHost: ${named}\r\nConnection: close\r\n\r\n`;

describe('a stranger', () => {
  test('is refused in words, in the clear, over TLS, without a name and where a sandbox would have a tunnel', async () => {
    const { stranger } = network;
    expect(refusalIn(await network.send(stranger, get(host)))).toBe('403 sandbox.unknown');
    expect(refusalIn(await network.send(stranger, get(host), { sni: host }))).toBe('403 sandbox.unknown');
    expect(refusalIn(await network.send(stranger, get(pinned), { sni: pinned }))).toBe('403 sandbox.unknown');
    expect(refusalIn(await network.send(stranger, get(host), { sni: null }))).toBe('403 target.literal-address');
    expect(upstream.seen).toEqual([]);
    const reasons = (await network.journal()).map(({ reason }) => String(reason));
    expect(reasons.filter((one) => one.includes(stranger))).toHaveLength(3);
  });

  test('is told no by DNS, whatever it asks, in fewer bytes than it sent', async () => {
    for (const type of Object.keys(typeNumbers) as (keyof typeof typeNumbers)[]) {
      for (const name of [host, 'evil.example', 'localhost']) {
        const question = questionOf(name, type, { edns: true });
        const reply = await network.ask(network.stranger, question);
        expect(readReply(reply)).toMatchObject({ rcodeNumber: 5, answers: [], authorities: [], flag_ra: false });
        expect(reply!.length).toBeLessThanOrEqual(question.length);
      }
    }
  });

  test('that floods is left without answers, and takes nothing from a sandbox', async () => {
    const flood = Array.from({ length: 150 }, () => network.ask(network.stranger, questionOf('x.example'), 500));
    const answered = (await Promise.all(flood)).filter((one) => one !== null).length;
    // 50 at once and 10 a second, with room for a slow machine.
    expect(answered).toBeLessThan(100);
    expect(addressesIn(await network.ask(network.sandbox, questionOf(host)))).toEqual([network.door]);
  });

  test('a sandbox at the next address is served all the while', async () => {
    const { sandbox } = network;
    expect(await network.send(sandbox, get(host), { sni: host })).toMatch(/^HTTP\/1\.1 200 /);
    expect(upstream.seen).toHaveLength(1);
  });

  test('is what a sandbox becomes that must prove itself by more than its address', async () => {
    const address = network.stranger.replace(/\d+$/, '14');
    await network.register({ container_ip: address, proof: ['ip', 'secret'] });
    expect(refusalIn(await network.send(address, get(host), { sni: host }))).toBe('407 sandbox.proof-missing');
    expect(readReply(await network.ask(address, questionOf(host)))).toMatchObject({ rcodeNumber: 3, answers: [] });
    expect(upstream.seen).toHaveLength(1);
  });
});
