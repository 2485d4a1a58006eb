import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:https';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PretendWorld, reply, startPretendWorld } from '../../../../src/prove/internet/pretend-world.ts';

let world: PretendWorld;
let port: number;

beforeAll(async () => {
  world = await startPretendWorld((name) =>
    name === 'played.example'
      ? {
          serve: (incoming, response) => incoming.on('end', () => reply(response, 201, 'played')),
          upgrade: (_, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nswitched'),
        }
      : undefined,
  );
  port = Number(world.address.split(':')[1]);
});

afterAll(() => world.close());

function get(host: string, body = ''): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: host, ca: world.certificate, headers: { host } };
    const call = request({ ...options, method: 'POST', agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    call.on('error', reject);
    call.end(body);
  });
}

test('a host is played over TLS, and what reached it is remembered', async () => {
  expect(await get('played.example', 'words')).toEqual({ status: 201, text: 'played' });
  expect(world.seen.at(-1)).toMatchObject({ method: 'POST', host: 'played.example', scheme: 'https', body: 'words' });
});

test('a name that nobody plays says that it was reached', async () => {
  expect((await get('other.example')).text).toContain('"reached":"other.example"');
});

test('HTTP/2 is spoken to those who ask for it', async () => {
  const session = connectHttp2('https://played.example', {
    createConnection: () =>
      connectTls({
        host: '127.0.0.1',
        port,
        servername: 'played.example',
        ca: world.certificate,
        ALPNProtocols: ['h2'],
      }),
  });
  const stream = session.request({ ':path': '/two' });
  const status = await new Promise((resolve) => stream.on('response', (fields) => resolve(fields[':status'])));
  session.destroy();
  expect(status).toBe(201);
  expect(world.seen.at(-1)).toMatchObject({ host: 'played.example', url: '/two' });
});

test('plain HTTP and changes of protocol come to the same door', async () => {
  const say = (text: string): Promise<string> =>
    new Promise((resolve) => {
      let heard = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      socket.on('close', () => resolve(heard));
    });
  const plain = await say('GET /p HTTP/1.1\r\nHost: played.example\r\nConnection: close\r\n\r\n');
  expect(plain).toMatch(/^HTTP\/1\.1 201 .*played/s);
  expect(world.seen.at(-1)).toMatchObject({ scheme: 'http', url: '/p' });
  const upgrade = 'GET /s HTTP/1.1\r\nHost: played.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  expect(await say(upgrade)).toMatch(/switched$/);
});
