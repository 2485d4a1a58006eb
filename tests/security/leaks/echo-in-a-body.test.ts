import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { echoedForms, readableKey } from '../../support/echoed-key.ts';
import type { ScriptedAnswer } from '../../support/recording-upstream.ts';
import { runClient } from '../../support/run-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

async function curl(answer: ScriptedAnswer, version = '--http1.1') {
  ground.upstream.answerWith(answer);
  ground.upstream.forget();
  const { proxyUrl, caPath } = ground.gateway;
  const url = 'https://api.example/fine';
  const run = await runClient('curl', [
    '-sSi',
    '--suppress-connect-headers',
    '-m',
    '10',
    version,
    '-x',
    proxyUrl,
    '--cacert',
    caPath,
    url,
  ]);
  expect(ground.upstream.bytes).toContain(plantedKey);
  expect(run.stderr).toBe('');
  return run.stdout;
}

const withLength = (body: string, status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const inChunks = (...parts: string[]): string =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}`;
const halves = [plantedKey.slice(0, 9), plantedKey.slice(9)] as const;

describe.each(['--http1.1', '--http2'])(
  'over curl %s, a credential in a body does not reach the sandbox',
  (version) => {
    test.each(echoedForms)('%s', async (_form, written) => {
      const text = await curl(() => withLength(`{"before":1,"key":"${written}","after":2}`), version);
      expect(readableKey(text)).toBeLessThan(4);
      expect(text).toContain('{"before":1,"key":"');
      expect(text).toContain('","after":2}');
    });

    test('nor by an error page', async () => {
      const text = await curl(
        () => withLength(`<p>the key ${plantedKey} is not valid</p>`, '401 Unauthorized'),
        version,
      );
      expect(text).toContain(`<p>the key ${'*'.repeat(plantedKey.length)} is not valid</p>`);
    });

    test('nor in two chunks, one half in each', async () => {
      const text = await curl(() => `${inChunks(`a ${halves[0]}`, `${halves[1]} z`)}0\r\n\r\n`, version);
      expect(text).toContain(`a ${'*'.repeat(plantedKey.length)} z`);
    });

    test('nor one byte at a time, with a pause in it', async () => {
      const text = await curl((_request, socket) => {
        socket.write(inChunks(...`a ${halves[0]}`));
        setTimeout(() => socket.write(`${inChunks(...`${halves[1]} z`).split('\r\n\r\n')[1]}0\r\n\r\n`), 300);
        return null;
      }, version);
      expect(text).toContain(`a ${'*'.repeat(plantedKey.length)} z`);
    });

    test('nor in a body that ends with the connection', async () => {
      const text = await curl((_request, socket) => {
        socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nlast words: ${plantedKey}`);
        return null;
      }, version);
      expect(text).toContain(`last words: ${'*'.repeat(plantedKey.length)}`);
    });

    test('nor in a trailer', async () => {
      const text = await curl(() => `${inChunks('words')}0\r\nX-Echo: ${plantedKey}\r\n\r\n`, version);
      expect(text).toContain('words');
      expect(readableKey(text)).toBeLessThan(4);
      expect(text.toLowerCase()).toContain(`x-echo: ${'*'.repeat(plantedKey.length)}`);
    });

    test('and an answer without it is not changed by a byte', async () => {
      const body = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte % 128)).join('');
      const text = await curl(() => withLength(body), version);
      expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(body);
    });
  },
);

test('how often it was replaced is written down', async () => {
  await curl(() => withLength(`${plantedKey} and ${plantedKey}`));
  await curl(() => withLength('nothing'));
  const records = await ground.gateway.journal();
  expect(records.slice(-2).map(({ scrubbed }) => scrubbed)).toEqual([2, 0]);
});
