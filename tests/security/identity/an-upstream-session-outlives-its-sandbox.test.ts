// Must not happen: a connection that was being dialled for a sandbox when it was removed serves the next one of its name.

import { readFileSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Sweeper } from '../../../src/kit/sweeper.ts';
import type { Exchange } from '../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../src/path/exchange/outgoing-request.ts';
import type { Injected } from '../../../src/path/flow.ts';
import { granted } from '../../../src/path/stamps/granted.ts';
import { createForwardStage, type ForwardStage } from '../../../src/stages/forward/forward-stage.ts';
import { eventually } from '../../support/eventually.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';
import { makeTestCa } from '../../support/test-ca.ts';

const host = 'api.example';
const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** An upstream that takes connections, and answers the handshake of each only when it is let. */
async function startUpstream() {
  const ca = makeTestCa();
  let isOpen: Promise<void> = Promise.resolve();
  const sockets: Socket[] = [];
  const server: Http2SecureServer = createSecureServer({
    SNICallback: (_name, done) => void isOpen.then(() => done(null)),
    ...ca.issue([host]),
  });
  server.on('connection', (socket: Socket) => sockets.push(socket));
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('fine');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const hold = (): (() => void) => {
    let letGo = (): void => {};
    isOpen = new Promise((resolve) => {
      letGo = resolve;
    });
    return letGo;
  };
  return { ca, port: (server.address() as AddressInfo).port, sockets, hold };
}

function openStage(port: number, caPath: string): ForwardStage {
  const sweeper = new Sweeper();
  const base = handMadePolicy({ allow: [{ host }] });
  const policy = {
    ...base,
    upstream: {
      resolve: [{ host: base.allow[0]!.host, address: '127.0.0.1', port }],
      extraRoots: [readFileSync(caPath, 'utf8')],
      proxy: null,
    },
  };
  const stage = createForwardStage(
    {
      policy: () => policy,
      lookup: () => Promise.reject(new Error('nothing is looked up here')),
      instance: 'sallyport-test',
      environmentRoots: [],
      onDial: () => {},
    },
    sweeper,
  );
  ends.push(() => {
    stage.drop(null);
    sweeper.stop();
  });
  return stage;
}

/** A request of an HTTP/2 client in the name of this sandbox; `leave` ends the client. */
function request(id: string): { readonly flow: Injected; leave(): void } {
  const exchange = {
    form: 'payload',
    requestFraming: { kind: 'none' },
    onAbandoned: null,
    onFinished: null,
    answered: false,
    inform: () => {},
    respond: () => ({ onDrain: null, write: () => true, flush: () => {}, end: () => {}, fail: () => {} }),
    abort: () => {},
  } as unknown as Exchange;
  const flow: Injected = {
    ...acceptedFlow(callerFrom(), canonicalOf('GET', `https://${host}/`)),
    exchange,
    sandbox: { ...sandboxWith(), id },
    permission: granted({
      rule: 'allow[0]',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
    }),
    outgoing: new OutgoingRequest('/', new HeaderList(), {}),
    injected: null,
  };
  return { flow, leave: () => exchange.onAbandoned?.() };
}

test('what is dialled for a sandbox that is gone is nobody’s after it', async () => {
  const { ca, port, sockets, hold } = await startUpstream();
  const stage = openStage(port, ca.path);
  const letGo = hold();
  const first = request('agent');
  const ended = Promise.resolve(stage.run(first.flow)).catch((error: Error) => error.name);
  await eventually(() => sockets.length === 1, 'it is dialled');
  stage.drop('agent');
  first.leave();
  letGo();
  expect(await ended).toBe('ClientGone');

  expect(await stage.run(request('agent').flow)).toMatchObject({ status: 200 });
  expect(sockets).toHaveLength(2);
  // One that is not dropped is used again.
  expect(await stage.run(request('agent').flow)).toMatchObject({ status: 200 });
  expect(sockets).toHaveLength(2);
});

test('nor does the next one wait for it', async () => {
  const { ca, port, sockets, hold } = await startUpstream();
  const stage = openStage(port, ca.path);
  const letGo = hold();
  const first = request('agent');
  const ended = Promise.resolve(stage.run(first.flow)).catch((error: Error) => error.name);
  await eventually(() => sockets.length === 1, 'it is dialled');
  stage.drop('agent');
  first.leave();
  const next = stage.run(request('agent').flow);
  await eventually(() => sockets.length === 2, 'the next one is dialled for by itself');
  letGo();
  expect(await ended).toBe('ClientGone');
  expect(await next).toMatchObject({ status: 200 });
});
