// Must not happen: the door answers for itself where another host was meant, or another host answers where the door was; and
// what is sent to the door leaves it.

import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Sweeper } from '../../../src/kit/sweeper.ts';
import type { Exchange } from '../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../src/path/exchange/outgoing-request.ts';
import type { Injected } from '../../../src/path/flow.ts';
import { granted } from '../../../src/path/stamps/granted.ts';
import { anyHost } from '../../../src/policy/host-pattern.ts';
import { createForwardStage } from '../../../src/stages/forward/forward-stage.ts';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';
import { sendPlain, sendTunnelled, type TunnelOptions } from '../../support/raw-client.ts';
import { errorsOf } from '../../unit/policy/pretend-machine.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

const inside = 'sallyport.internal';
const get = (host: string, target = '/agents.md', more = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`;
/** How the page begins that nobody but the door has. */
const ofTheDoor = 'Network access in this sandbox';

async function verdict(bytes: string, through: (TunnelOptions & { readonly host: string }) | null): Promise<string> {
  ground.upstream.forget();
  const answer =
    through === null
      ? await sendPlain(ground.gateway, bytes)
      : await sendTunnelled(ground.gateway, through.host, bytes, through);
  expect(ground.upstream.bytes).toBe('');
  const who = answer.text.includes(ofTheDoor) ? 'the door' : 'nobody';
  return `${answer.statuses.join(' ')} ${answer.code ?? who}`;
}

describe('a request that says two names is answered by neither', () => {
  test.each<[string, string, (TunnelOptions & { readonly host: string }) | null]>([
    ['Host says the door, CONNECT and the handshake another', get(inside), { host: 'api.example' }],
    ['the handshake says another', get(inside), { host: inside, sni: 'api.example' }],
    ['CONNECT says another', get(inside), { host: inside, connect: 'api.example:443' }],
    ['Host says another', get('api.example'), { host: inside }],
    ['the URL says another', get(inside, 'https://api.example/'), { host: inside }],
    ['the plain URL says the door, Host another', get('api.example', `http://${inside}/agents.md`), null],
    ['the plain URL says another, Host the door', get(inside, 'http://api.example/agents.md'), null],
    ['there are two Host fields', get(inside, `http://${inside}/agents.md`, 'Host: api.example\r\n'), null],
  ])('%s', async (_what, bytes, through) => {
    expect(await verdict(bytes, through)).toBe('400 mismatch.authority');
  });

  test.each([
    ['a trailing dot', `${inside}.`, '400 malformed.host'],
    ['a user name', `x@${inside}`, '400 malformed.host'],
    ['an encoded letter', '%73allyport.internal', '400 malformed.host'],
    ['another port', `${inside}:8080`, '403 target.port'],
    ['a name below', `door.${inside}`, '403 domain.not-allowed'],
    ['a name above', `${inside}.example`, '403 domain.not-allowed'],
    ['a look-alike', 'sallyp0rt.internal', '403 domain.not-allowed'],
  ])('%s is not it', async (_what, host, told) => {
    expect(await verdict(get(host, `http://${host}/agents.md`), null)).toBe(told);
  });

  test.each<[string, string, (TunnelOptions & { readonly host: string }) | null]>([
    ['in capitals', get('SALLYPORT.Internal', 'http://Sallyport.INTERNAL/agents.md'), null],
    ['in full-width letters', get('\xef\xbd\x93allyport.internal', `http://${inside}/agents.md`), null],
    ['over TLS', get(inside), { host: inside }],
    ['as something to upgrade', get(inside, '/agents.md', 'Upgrade: websocket\r\n'), { host: inside }],
  ])('it is itself %s', async (_what, bytes, through) => {
    expect(await verdict(bytes, through)).toBe('200 the door');
  });

  test('a method in another field asks nobody for anything', async () => {
    const body = '{"host": "a.example", "reason": "x"}';
    const fields = `X-HTTP-Method-Override: POST\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
    const answer = await sendPlain(
      ground.gateway,
      `GET http://${inside}/requests HTTP/1.1\r\nHost: ${inside}\r\n${fields}`,
    );
    expect(answer.text).toContain('You have asked for nothing yet');
  });
});

describe('what is sent to the door stays there', () => {
  test('no entry of the allowlist can make something else of its name', async () => {
    for (const entry of ['host: sallyport.internal', 'host: [a.example, Sallyport.Internal]\n    tunnel: true']) {
      const errors = await errorsOf(`version: 1\nallow:\n  - ${entry}\n`);
      expect(errors).toMatchObject([{ line: 3, message: expect.stringContaining("the gateway's own page") }]);
    }
    for (const other of [
      'upstream: { resolve: { sallyport.internal: 192.0.2.1 } }',
      'git: { hosts: [sallyport.internal] }',
    ]) {
      const errors = await errorsOf(`version: 1\nallow: [{ host: a.example }]\n${other}\n`);
      expect(errors).toMatchObject([{ line: 3, message: expect.stringContaining("the gateway's own page") }]);
    }
  });

  test('nothing is looked up or dialled for it, not even where every name is pinned', async () => {
    const dialled = vi.fn();
    const server = createServer((socket) => {
      dialled();
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { readonly port: number };
    const lookup = vi.fn(async () => [{ address: '127.0.0.1', family: 4 as const }]);
    const made = handMadePolicy({ allow: [{ host: 'a.example' }] });
    const resolve = [{ host: anyHost, address: '127.0.0.1', port }];
    const sweeper = new Sweeper();
    const stage = createForwardStage(
      {
        policy: () => ({ ...made, upstream: { ...made.upstream, resolve } }),
        lookup,
        instance: 'test',
        environmentRoots: [],
        onDial: dialled,
      },
      sweeper,
      async () => ({ status: 200, headers: new HeaderList(), body: Buffer.from('the door') }),
    );
    const answered = vi.fn();
    for (const scheme of ['http', 'https'] as const) {
      await stage.run(injected(scheme, { answer: answered, form: 'wire' } as unknown as Exchange));
    }
    expect(answered.mock.calls.map((call) => [call[0], String(call[2])])).toEqual([
      [200, 'the door'],
      [200, 'the door'],
    ]);
    expect([dialled.mock.calls.length, lookup.mock.calls.length]).toEqual([0, 0]);
    sweeper.stop();
    await new Promise((resolve) => server.close(resolve));
  });
});

function injected(scheme: 'http' | 'https', exchange: Exchange): Injected {
  const canonical = canonicalOf('GET', `${scheme}://${inside}/why`);
  return {
    ...acceptedFlow(callerFrom(), canonical),
    exchange,
    sandbox: sandboxWith(),
    permission: granted({
      rule: 'built-in',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
      inside: true,
    }),
    outgoing: new OutgoingRequest('/why', new HeaderList()),
    injected: null,
  };
}
