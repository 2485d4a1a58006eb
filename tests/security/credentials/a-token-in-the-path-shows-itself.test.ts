// Must not happen: a credential that goes into the path stands in the journal, comes back, goes to another place or another
// host, or is had with the placeholder of another credential.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeholderFor } from '../../../src/kit/text/placeholder.ts';
import {
  anywherePlaceholder,
  openPlacesGround,
  type PlacesGround,
  realValues,
  telegramPlaceholder,
} from '../../support/places-ground.ts';

let ground: PlacesGround;
const token = realValues.telegram;

beforeAll(async () => {
  ground = await openPlacesGround(({ head }) => {
    const path = head.split(' ', 2)[1]!;
    const body = JSON.stringify({ path, url: `https://telegram.example${path}`, coded: encodeURIComponent(path) });
    return `HTTP/1.1 302 Found\r\nLocation: https://telegram.example/file${path}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  });
});

afterAll(() => ground.stop());

const firstLine = (): string => ground.upstream.bytes.split('\r\n', 1)[0]!;

describe('in its place', () => {
  test('the far side gets it, and neither the journal nor the sandbox sees it', async () => {
    const answer = await ground.send('telegram.example', `GET /bot${telegramPlaceholder}/getMe?x=1 HTTP/1.1`);
    expect(answer.statuses).toEqual([302]);
    expect(firstLine()).toBe(`GET /bot${token}/getMe?x=1 HTTP/1.1`);
    expect(answer.text).not.toContain(token);
    expect(answer.text).not.toContain(encodeURIComponent(token));
    const record = await ground.lastRecord();
    expect(JSON.stringify(record)).not.toContain('AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw');
    expect(record).toMatchObject({ verdict: 'allowed', path: `/bot${telegramPlaceholder}/getMe` });
  });

  test('in another spelling of the placeholder too', async () => {
    const spelt = telegramPlaceholder.replace(':', '%3A').replace('s', '%73');
    await ground.send('telegram.example', `GET /bot${spelt}/getMe HTTP/1.1`);
    expect(firstLine()).toBe(`GET /bot${token}/getMe HTTP/1.1`);
  });

  test('what is no part of a path is written as one', async () => {
    const answer = await ground.send('any.example', `GET /a/${anywherePlaceholder}/b HTTP/1.1`);
    expect(firstLine()).toBe('GET /a/real%2Fany&where=7f3a%209c51/b HTTP/1.1');
    expect(answer.text).not.toContain('9c51');
  });
});

describe('anywhere else', () => {
  test.each([
    ['no placeholder', '/getMe'],
    ['the placeholder where the policy has no place', `/file/${telegramPlaceholder}`],
    ['the placeholder behind the place', `/botx/${telegramPlaceholder}`],
    ['the placeholder twice', `/bot${telegramPlaceholder}/${telegramPlaceholder}`],
    ['the placeholder without its prefix', `/bot${placeholderFor('telegram')}/getMe`],
    ['a token of the sandbox', '/bot999:ABC/getMe'],
  ])('%s: nothing goes out', async (_, path) => {
    const answer = await ground.send('telegram.example', `GET ${path} HTTP/1.1`);
    expect([answer.statuses, answer.code]).toEqual([[403], 'credential.no-place']);
    expect(ground.upstream.bytes).toBe('');
  });

  test('in the query or a field it stays what it is', async () => {
    const path = `/bot${telegramPlaceholder}/x?t=${telegramPlaceholder}`;
    await ground.send('telegram.example', `GET ${path} HTTP/1.1\r\nX-Note: ${telegramPlaceholder}`);
    expect(ground.upstream.bytes.split(token)).toHaveLength(2);
    expect(firstLine()).toBe(`GET /bot${token}/x?t=${telegramPlaceholder} HTTP/1.1`);
  });

  test.each(['other.example', 'open.example', 'any.example'])('to %s it does not go', async (host) => {
    const answer = await ground.send(host, `GET /bot${telegramPlaceholder}/getMe HTTP/1.1`);
    expect(answer.code).toBe('secret.placeholder-misplaced');
    expect(ground.upstream.bytes).toBe('');
  });
});

describe('the placeholder of another credential of the same host', () => {
  test('is not what is exchanged', async () => {
    const answer = await ground.send('any.example', `GET /a/${placeholderFor('other')} HTTP/1.1`);
    expect(answer.code).toBe('credential.no-place');
    expect(ground.upstream.bytes).toBe('');
  });

  test('where that one goes, this one is not exchanged either', async () => {
    await ground.send('any.example', `GET /other/${anywherePlaceholder} HTTP/1.1`);
    expect(firstLine()).toBe(`GET /other/${anywherePlaceholder} HTTP/1.1`);
    expect(ground.upstream.bytes).toContain(`Authorization: Bearer ${realValues.other}\r\n`);
    expect(ground.upstream.bytes).not.toContain('9c51');
  });
});
