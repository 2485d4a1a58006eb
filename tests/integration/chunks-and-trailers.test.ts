import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFarGateway } from '../support/far-gateway.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { runClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { openHttp2, openTls } from '../support/tunnel-client.ts';
import { Wire } from '../support/wire.ts';

const host = 'far.example';
let upstream: RawUpstream;
let gateway: TestGateway;
/** Head and raw body of every request, as it stood on the wire. */
const seen: { head: string; body: string }[] = [];

const answer =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n' +
  '5\r\nfirst\r\n6\r\nsecond\r\n0\r\nX-Sum: 42\r\n\r\n';

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startRawUpstream({
    tls: { ca, names: [host] },
    serve: async ({ wire }) => {
      for (;;) {
        const head = await wire.until('\r\n\r\n');
        const isChunked = /^transfer-encoding: chunked/im.test(head);
        // The last chunk and its trailers end with an empty line; the payloads here hold none.
        const body = isChunked ? await wire.until('\r\n\r\n') : '';
        seen.push({ head, body });
        wire.send(answer);
      }
    },
  });
  gateway = await startFarGateway(ca, { [host]: upstream });
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

describe('chunked bodies and their trailers pass both ways', () => {
  test('over HTTP/1.1 they arrive exactly as they were written', async () => {
    const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
    const body = '4\r\nWiki\r\n6;note=1\r\npedia \r\n0\r\nX-Digest: abc\r\n\r\n';
    wire.send(`POST /up HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Digest\r\n\r\n${body}`);
    const head = await wire.until('\r\n\r\n');
    expect(head).toMatch(/^trailer: x-sum/im);
    expect(await wire.until('\r\n\r\n')).toBe(answer.slice(answer.indexOf('5\r\n')));
    const request = seen.at(-1)!;
    expect(request.head).toMatch(/^trailer: x-digest/im);
    expect(request.head.match(/^transfer-encoding:/gim)).toHaveLength(1);
    expect(request.body.replace(/;note=1/, '')).toBe(body.replace(/;note=1/, ''));
    wire.socket.destroy();
  });

  test('an upload of unknown length by curl arrives whole', async () => {
    const text = 'a line of the upload\n'.repeat(5000);
    const run = await runClient(
      'curl',
      [
        '-sS',
        '-m',
        '10',
        '--http1.1',
        '-x',
        gateway.proxyUrl,
        '--cacert',
        gateway.caPath,
        '-T',
        '-',
        `https://${host}/up`,
      ],
      { input: text },
    );
    expect(run.stderr).toBe('');
    expect(run.stdout).toBe('firstsecond');
    const { head, body } = seen.at(-1)!;
    expect(head.startsWith('PUT /up HTTP/1.1')).toBe(true);
    expect(decode(body)).toBe(text);
  });

  test('an HTTP/2 client and an HTTP/1.1 far side exchange them too', async () => {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    const stream = session.request({ ':method': 'POST', ':path': '/up' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-digest': 'def' }));
    const trailers = new Promise((resolve) => stream.on('trailers', resolve));
    stream.write('one ');
    stream.end('two');
    let text = '';
    for await (const chunk of stream) text += chunk;
    expect(text).toBe('firstsecond');
    expect(await trailers).toMatchObject({ 'x-sum': '42' });
    const { body } = seen.at(-1)!;
    expect(decode(body)).toBe('one two');
    expect(body.toLowerCase()).toContain('0\r\nx-digest: def\r\n\r\n');
    session.close();
  });

  test('chunks that go wrong half-way never look complete to the far side, and the client is told', async () => {
    const before = seen.length;
    const wire = new Wire(await openTls(gateway, `${host}:443`, { caPath: gateway.caPath }));
    wire.send(`POST /up HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\nnot a size\r\n`);
    const refusal = await wire.answer();
    expect(refusal.head.startsWith('HTTP/1.1 400 ')).toBe(true);
    expect(JSON.parse(refusal.body)).toMatchObject({ code: 'malformed.framing' });
    expect(await wire.rest()).toBe('');
    expect(seen.length).toBe(before);
  });
});

function decode(body: string): string {
  let text = '';
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, end), 16);
    if (size === 0) return text;
    text += body.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}
