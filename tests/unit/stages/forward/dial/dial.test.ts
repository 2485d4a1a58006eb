import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseHostPattern } from '../../../../../src/policy/host-pattern.ts';
import { Dialler } from '../../../../../src/stages/forward/dial/dial.ts';
import { type AddressLookup, LookupTooSlow } from '../../../../../src/stages/forward/dial/find-upstream.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

let silent: Server;
let port: number;

beforeAll(async () => {
  silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  port = (silent.address() as AddressInfo).port;
});

afterAll(() => {
  silent.close();
});

function diallerWith(
  lookup: AddressLookup,
  connectTimeoutMs: number,
): { readonly dialler: Dialler; readonly dials: boolean[] } {
  const base = handMadePolicy({ allow: [{ host: 'pinned.example' }] });
  const pinned = parseHostPattern('pinned.example');
  if ('problem' in pinned) throw new Error(pinned.problem);
  const policy = {
    ...base,
    limits: { ...base.limits, connectTimeoutMs },
    upstream: { ...base.upstream, resolve: [{ host: pinned.value, address: '127.0.0.1', port }] },
  };
  const dials: boolean[] = [];
  const dialler = new Dialler({
    policy: () => policy,
    lookup,
    instance: 'test',
    environmentRoots: [],
    onDial: (connected) => dials.push(connected),
  });
  return { dialler, dials };
}

const never: AddressLookup = () => new Promise(() => {});

describe('reaching an upstream takes no longer than it may', () => {
  test('a look-up that never ends is given up in the time for connecting', async () => {
    const { dialler, dials } = diallerWith(never, 30);
    await expect(dialler.open('far.example', 443, 'sbx')).rejects.toMatchObject({
      code: 'upstream.timeout',
      status: 504,
      rule: 'limits.connect_timeout_ms',
      cause: expect.any(LookupTooSlow),
    });
    expect(dials).toEqual([false]);
  });

  test('and while there is time to connect: what comes of it is not the fault of the upstream', async () => {
    const late: AddressLookup = () =>
      new Promise((done) => setTimeout(done, 360, [{ address: '127.0.0.1', family: 4 }]));
    await expect(diallerWith(late, 400).dialler.open('far.example', 443, 'sbx')).rejects.toMatchObject({
      code: 'upstream.timeout',
      cause: expect.any(LookupTooSlow),
    });
  });

  test('one that fails after it was given up disturbs nobody', async () => {
    let fail: (error: Error) => void = () => {};
    const late: AddressLookup = () => new Promise((_resolve, reject) => (fail = reject));
    await expect(diallerWith(late, 10).dialler.open('far.example', 443, 'sbx')).rejects.toMatchObject({
      code: 'upstream.timeout',
    });
    // The test runner reports a rejection that nobody handles as a failure of this file.
    fail(new Error('ENOTFOUND'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  test('a handshake that never ends has the same limit, not one of its own', async () => {
    const { dialler } = diallerWith(never, 1_000);
    await expect(
      dialler.dial({ scheme: 'https', host: 'pinned.example', port: 443 }, ['http/1.1'], 'sbx'),
    ).rejects.toMatchObject({ code: 'upstream.timeout', message: 'the TLS handshake to pinned.example took too long' });
  });
});
