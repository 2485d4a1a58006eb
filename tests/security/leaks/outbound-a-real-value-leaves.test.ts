// Must not happen: a sandbox that has found a real key somewhere sends it on, be it to the host where it belongs; and the key
// is in what we write down about that.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectRefused,
  inChunks,
  type OutboundGround,
  openOutboundGround,
  outbound,
  realKey,
  withLength,
  writtenAs,
} from './outbound-ground.ts';

let ground: OutboundGround;

beforeAll(async () => {
  ground = await openOutboundGround();
  await ground.gateway.setSecret('forge', 'Forge-Token-4711-ABC');
});

afterAll(() => ground.stop());

const post = 'POST /v1 HTTP/1.1';

describe.each(['api.example', 'open.example', 'model.example', 'git.example'])(
  'a real key does not go to %s',
  (host) => {
    test.each([
      ['in a field', `GET / HTTP/1.1\r\nX-Api-Key: ${realKey}`, '', 'the field x-api-key'],
      ['in the query', `GET /?key=${encodeURIComponent(realKey)} HTTP/1.1`, '', 'the query'],
      ['in the path', `GET /a/${encodeURIComponent(realKey)} HTTP/1.1`, '', 'the path'],
      ['in the body', post, withLength(`{"k": "${realKey.replaceAll('/', '\\/')}"}`), 'the body'],
      ['across chunks', post, inChunks([realKey.slice(0, 9), realKey.slice(9)]), 'the body'],
      ['in gzip', post, withLength(gzipSync(`k=${realKey}`), 'Content-Encoding: gzip\r\n'), 'the body'],
    ])('%s', async (_where, head, rest, place) => {
      const answer = await ground.send(host, head, rest);
      await expectRefused(ground, answer, outbound, `value of key in ${place}`);
      expect(answer.text).not.toContain(realKey);
    });
  },
);

describe('a real key does not leave', () => {
  test.each(writtenAs)('%s', async (_name, write) => {
    const answer = await ground.send('open.example', post, withLength(`[${write(realKey)}]`));
    await expectRefused(ground, answer, outbound, 'value of key in the body');
  });

  test('in lower case as a label of a host', async () => {
    await ground.gateway.admin('DELETE', '/internal/containers/127.0.0.1');
    await ground.gateway.register({ container_ip: '127.0.0.1', repos: ['o/r'] });
    // What is used is known.
    await ground.send('git.example', 'GET /o/r.git/info/refs?service=git-upload-pack HTTP/1.1');
    const answer = await ground.send('forge-token-4711-abc.files.example', 'GET / HTTP/1.1');
    await expectRefused(ground, answer, outbound, 'value of forge in the host name');
  });

  test('into our own journal', () => {
    const directory = join(ground.gateway.home, 'state', 'journal');
    const text = readdirSync(directory)
      .map((name) => readFileSync(join(directory, name), 'latin1'))
      .join('');
    expect(text).toContain('value of key in the path');
    for (const value of [realKey, '7f3a9c51', 'forge-token-4711-abc']) {
      expect([value, text.toLowerCase().includes(value.toLowerCase())]).toEqual([value, false]);
    }
  });
});
