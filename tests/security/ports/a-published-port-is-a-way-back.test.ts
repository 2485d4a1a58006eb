import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dialInside } from '../../support/dial-inside.ts';
import { startEchoServer } from '../../support/echo-server.ts';
import { eventually } from '../../support/eventually.ts';
import { type NamespaceSandbox, openNamespaceSandbox } from '../../support/namespace-ground.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const dev = 'dev.example.com';
let gateway: TestGateway;
let one: NamespaceSandbox;
let two: NamespaceSandbox;

interface Published {
  readonly hostPort: number;
}

/** A server inside, on this address alone, that says whose it is, then what it is sent. */
async function serve(sandbox: NamespaceSandbox, name: string, address: string, port: number) {
  const script = `
import socket, sys, threading
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
s.listen(64)
print("listens", flush=True)
def echo(c):
    c.sendall(b"${name}\\n")
    while True:
        got = c.recv(65536)
        if not got: break
        c.sendall(got)
    c.sendall(b"the end\\n")
    c.close()
while True:
    threading.Thread(target=echo, args=(s.accept()[0],), daemon=True).start()`;
  const started = sandbox.namespace.start(['python3', '-c', script, address, String(port)]);
  await started.stdout.until('listens\n');
}

async function publish(sandbox: NamespaceSandbox, port: string): Promise<Published> {
  const reply = await gateway.admin('POST', `/internal/containers/${sandbox.id}/ports`, { port });
  if (reply.status !== 201) throw new Error(`${reply.status} ${reply.body}`);
  return reply.json<object>() as Published;
}

async function talk(port: number, say = 'ping\n'): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let got = '';
  socket.setEncoding('utf8').on('data', (text: string) => (got += text));
  socket.on('error', (error) => (got += (error as NodeJS.ErrnoException).code));
  socket.end(say);
  await new Promise((resolve) => socket.once('close', resolve));
  return got;
}

beforeAll(async () => {
  const elsewhere = await startEchoServer();
  gateway = await startTestGateway({
    allow: [{ host: dev }, { host: 'plain.example.com', tcp: [9000] }, { host: 'x.example.com', tcp: [3000] }],
    upstream: { resolve: { 'plain.example.com': `127.0.0.1:${elsewhere.port}` } },
  });
  one = await openNamespaceSandbox(gateway);
  two = await openNamespaceSandbox(gateway, { registration: { ports: ['0:4000'] } });
  await Promise.all([
    serve(one, 'one', '127.0.0.1', 4000),
    serve(two, 'two', '127.0.0.1', 4000),
    serve(one, 'six', '::1', 4001),
  ]);
});

afterAll(async () => {
  await one?.end();
  await two?.end();
  await gateway?.stop();
});

test('two sandboxes publish the same port of theirs, and each answers at its own, also on ::1 alone', async () => {
  const { hostPort } = await publish(one, '127.0.0.1:0:4000');
  expect(await talk(hostPort)).toBe('one\nping\nthe end\n');
  const listed = (await gateway.admin('GET', '/internal/ports')).json<{ sandboxes: { sandbox: string }[] }>();
  const ofTwo = listed.sandboxes.find(({ sandbox }) => sandbox === two.id) as unknown as {
    readonly listening: readonly object[];
    readonly published: readonly Published[];
  };
  expect(ofTwo.listening).toEqual([{ port: 4000, addresses: ['127.0.0.1'] }]);
  expect(await talk(ofTwo.published[0]!.hostPort)).toBe('two\nping\nthe end\n');
  expect(await talk((await publish(one, '0:4001')).hostPort)).toBe('six\nping\nthe end\n');
});

test('the ports of the door are not published: whoever came there would be the sandbox', async () => {
  for (const port of ['0:443', '0:80', '0:53', '0:3128', '0:3000', '0:9000']) {
    const reply = await gateway.admin('POST', `/internal/containers/${one.id}/ports`, { port });
    expect([port, reply.status, reply.json().code]).toEqual([port, 409, 'port.of-the-door']);
  }
});

test('nothing in a sandbox reaches the listener of this machine, nor that of another sandbox', async () => {
  const { hostPort } = await publish(one, '0:4000');
  gateway.writeConfig({
    allow: [
      { host: dev, ports: [80], plain_http: true },
      { host: 'raw.example.com', tcp: [9000] },
    ],
    upstream: { resolve: { [dev]: `127.0.0.1:${hostPort}`, 'raw.example.com': `127.0.0.2:${hostPort}` } },
  });
  await gateway.gateway.reload();
  const places = ['127.0.0.1', '::1', '127.0.0.2', '198.51.100.1'].map((address) => [address, hostPort] as const);
  for (const { got } of await dialInside(two.namespace, places)) expect(got).not.toContain('one');
  // Not even where the operator pins a name to it.
  const answer = await two.curl(`http://${dev}/`, ['-x', 'http://127.0.0.1:3128']);
  expect(answer).toMatchObject({ status: 502, code: 'upstream.address-refused' });
  const again = await openNamespaceSandbox(gateway, { registration: { host_ports: [`${hostPort}:15000`] } }).catch(
    (error: Error) => error.message,
  );
  expect(again).toContain('host-port.reserved');
});

test('a flood, resets and readers that do not read hold nothing but their own port', async () => {
  const { hostPort } = await publish(one, '0:4000');
  const sockets: Socket[] = [];
  for (let i = 0; i < 300; i++) {
    const socket = connect(hostPort, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    sockets.push(socket);
  }
  await Promise.all(sockets.slice(0, 50).map((socket) => once(socket, 'connect')));
  const block = Buffer.alloc(256 * 1024, 'x');
  for (const socket of sockets.slice(0, 20)) for (let i = 0; i < 16; i++) socket.write(block);
  for (const socket of sockets.slice(20, 100)) socket.resetAndDestroy();
  const other = await publish(one, '0:4000');
  expect(await talk(other.hostPort)).toBe('one\nping\nthe end\n');
  expect((await gateway.admin('GET', '/internal/health')).status).toBe(200);
  for (const socket of sockets) socket.destroy();
});

test('a port at which nothing listens is a connection that is reset; what is taken back ends, and so does a sandbox', async () => {
  const silent = await publish(one, '0:4999');
  expect(await talk(silent.hostPort)).toBe('ECONNRESET');
  const short = await openNamespaceSandbox(gateway);
  await serve(short, 'short', '127.0.0.1', 4000);
  const { hostPort } = await publish(short, '0:4000');
  const held = connect(hostPort, '127.0.0.1').on('error', () => {});
  await once(held, 'data');
  expect((await gateway.admin('DELETE', `/internal/containers/${short.id}/ports?port=4000`)).status).toBe(200);
  await once(held, 'close');
  expect(await talk(hostPort)).toBe('ECONNREFUSED');
  const again = await publish(short, '0:4000');
  const other = connect(again.hostPort, '127.0.0.1').on('error', () => {});
  await once(other, 'data');
  await gateway.admin('DELETE', `/internal/containers/${short.id}`);
  await once(other, 'close');
  await eventually(async () => (await talk(again.hostPort)) === 'ECONNREFUSED', 'nothing listens any more');
  await short.end();
});

test('what cannot be published is said, and a sandbox that counts on it is not registered', async () => {
  const taken = await startEchoServer();
  const asked = openNamespaceSandbox(gateway, { registration: { ports: [`${taken.port}:4000`] } });
  await expect(asked).rejects.toThrow(/409 .*port\.taken/);
  for (const port of ['x', '0', '1:2:3', '300.0.0.1:0:3000', '[::1:3000', '70000']) {
    const reply = await gateway.admin('POST', `/internal/containers/${one.id}/ports`, { port });
    expect([port, reply.status]).toEqual([port, 400]);
  }
  const stranger = await gateway.register({ id: 'no-namespace', proof: ['secret'] });
  const reply = await gateway.admin('POST', `/internal/containers/${stranger.id}/ports`, { port: '3000' });
  expect([reply.status, reply.json().code]).toEqual([409, 'port.no-namespace']);
});
