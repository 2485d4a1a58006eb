import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AttackGround, openAttackGround, plantedKey } from '../../support/attack-ground.ts';
import { echoedForms, readableKey } from '../../support/echoed-key.ts';
import { sendTunnelled } from '../../support/raw-client.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

async function answerTo(bytes: string): Promise<string> {
  ground.upstream.answerWith(() => bytes);
  ground.upstream.forget();
  const answer = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
  // It went out, and it came back: else there was nothing to hide.
  expect(ground.upstream.bytes).toContain(plantedKey);
  return answer.text;
}

const empty = 'Content-Length: 0\r\n\r\n';
const heads: [string, string][] = [
  ['the reason', `HTTP/1.1 401 no such key ${plantedKey}\r\n${empty}`],
  ['a field of its own', `HTTP/1.1 200 OK\r\nX-You-Sent: ${plantedKey}\r\n${empty}`],
  ['the name of a field', `HTTP/1.1 200 OK\r\n${plantedKey}: seen\r\n${empty}`],
  ['Location', `HTTP/1.1 302 Found\r\nLocation: https://open.example/?key=${plantedKey}&a=b\r\n${empty}`],
  ['Set-Cookie', `HTTP/1.1 200 OK\r\nSet-Cookie: k="${plantedKey}"; Secure\r\n${empty}`],
  ['WWW-Authenticate', `HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error="bad ${plantedKey}"\r\n${empty}`],
  ['early hints', `HTTP/1.1 103 Early Hints\r\nLink: </?k=${plantedKey}>\r\n\r\nHTTP/1.1 200 OK\r\n${empty}`],
  ['a field of an answer without a body', `HTTP/1.1 304 Not Modified\r\nETag: "${plantedKey}"\r\n\r\n`],
];

describe('a credential that an upstream writes into the head of its answer does not reach the sandbox', () => {
  test.each(heads)('in %s', async (_where, bytes) => {
    const text = await answerTo(bytes);
    expect(readableKey(text)).toBeLessThan(4);
    // All else stands as it stood.
    const status = bytes.slice(9, 12);
    expect(text).toContain(`HTTP/1.1 ${status}`);
    expect(text).toContain('*'.repeat(plantedKey.length));
  });

  test.each(echoedForms)('in a field, %s', async (_form, written) => {
    const text = await answerTo(`HTTP/1.1 200 OK\r\nX-Echo: key=${written};\r\nX-Other: stays\r\n${empty}`);
    expect(readableKey(text)).toBeLessThan(4);
    expect(text).toContain('X-Other: stays');
  });
});
