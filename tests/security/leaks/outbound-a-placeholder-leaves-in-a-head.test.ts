// Must not happen: a placeholder leaves for a host that it does not belong to, in anything that stands before a body.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeholderFor, placeholderSigns } from '../../../src/kit/text/placeholder.ts';
import {
  expectRefused,
  misplaced,
  type OutboundGround,
  openOutboundGround,
  placeholder,
  writtenAs,
} from './outbound-ground.ts';

let ground: OutboundGround;

beforeAll(async () => {
  ground = await openOutboundGround();
});

afterAll(() => ground.stop());

const [sign] = placeholderSigns('key');

describe('a placeholder does not leave in a head', () => {
  test.each([
    ['in the path', `GET /a/${placeholder}/b HTTP/1.1`, 'the path'],
    ['in the query', `GET /?q=${placeholder} HTTP/1.1`, 'the query'],
    ['in a field', `GET / HTTP/1.1\r\nX-Note: see ${placeholder}`, 'the field x-note'],
    ['in Authorization', `GET / HTTP/1.1\r\nAUTHORIZATION: Bearer ${placeholder}`, 'the field authorization'],
    ['in a cookie', `GET / HTTP/1.1\r\nCookie: a=b; s=${placeholder}`, 'the field cookie'],
    ['in the referrer', `GET / HTTP/1.1\r\nReferer: https://x.example/?k=${placeholder}`, 'the field referer'],
    ['in the name of a field', `GET / HTTP/1.1\r\nX-${sign}: 1`, 'the name of a field'],
    ['in the name of a field, in capitals', `GET / HTTP/1.1\r\n${sign!.toUpperCase()}: 1`, 'the name of a field'],
  ])('%s', async (_where, head, place) => {
    const answer = await ground.send('open.example', head);
    await expectRefused(ground, answer, misplaced, `placeholder of key in ${place}`);
    expect(ground.upstream.bytes).toBe('');
  });

  test.each(writtenAs)('%s', async (_name, write) => {
    const text = write(placeholder);
    const inField = await ground.send('open.example', `GET / HTTP/1.1\r\nX-Note: ${text}`);
    await expectRefused(ground, inField, misplaced, 'placeholder of key in the field x-note');
    const inQuery = await ground.send('open.example', `GET /?q=${text.replaceAll('\\', '%5C')} HTTP/1.1`);
    await expectRefused(ground, inQuery, misplaced, 'placeholder of key in the query');
    // A backslash in a path is malformed, however it is written.
    if (text.includes('\\')) return;
    const inPath = await ground.send('open.example', `GET /${text} HTTP/1.1`);
    await expectRefused(ground, inPath, misplaced, 'placeholder of key in the path');
  });

  test('percent-encoded twice in the path', async () => {
    const twice = encodeURIComponent(Buffer.from(placeholder).toString('hex').replace(/../g, '%$&'));
    const answer = await ground.send('open.example', `GET /?u=${twice} HTTP/1.1`);
    await expectRefused(ground, answer, misplaced, 'placeholder of key in the query');
  });

  test('as a label of a host that a wildcard allows', async () => {
    const answer = await ground.send(`${sign}.files.example`, 'GET / HTTP/1.1');
    await expectRefused(ground, answer, misplaced, 'placeholder of key in the host name');
    expect(ground.upstream.connections).toBe(0);
  });

  test('as the password of git at another git host', async () => {
    const login = Buffer.from(`x-access-token:${placeholderFor('forge')}`).toString('base64');
    const head = `GET /o/r.git/info/refs?service=git-upload-pack HTTP/1.1\r\nAuthorization: Basic ${login}`;
    const answer = await ground.send('open.example', head);
    expect(answer.code).toBe(misplaced);
    // git shows its user what is plain text.
    expect(answer.text).toContain('text/plain');
    expect(answer.text).toContain('the placeholder of the credential forge is in the field authorization');
    expect(ground.upstream.bytes).toBe('');
  });

  test('as the password of git where git is judged: there no proof of the sandbox goes on at all', async () => {
    const login = Buffer.from(`x-access-token:${placeholderFor('forge')}`).toString('base64');
    await ground.gateway.admin('DELETE', '/internal/containers/127.0.0.1');
    await ground.gateway.register({ container_ip: '127.0.0.1', repos: ['o/r'] });
    const head = `GET /o/r.git/info/refs?service=git-upload-pack HTTP/1.1\r\nAuthorization: Basic ${login}`;
    const answer = await ground.send('other-git.example', head);
    expect(answer.code).toBeNull();
    expect(ground.upstream.bytes).toContain('/o/r.git/info/refs');
    expect(ground.upstream.bytes.toLowerCase()).not.toContain('authorization');
  });

  test('of another credential to a host that has one', async () => {
    const answer = await ground.send('api.example', `GET /?t=${placeholderFor('forge')} HTTP/1.1`);
    await expectRefused(ground, answer, misplaced, 'placeholder of forge in the query');
  });
});

describe('what belongs is let through', () => {
  test('at home the placeholder is taken off and the real key put in', async () => {
    const answer = await ground.send('api.example', `GET /v1 HTTP/1.1\r\nX-Api-Key: ${placeholder}`);
    expect(answer.statuses).toContain(200);
    expect(ground.upstream.bytes).not.toContain(sign);
    expect(ground.upstream.bytes).toContain('Planted-Key');
  });

  test('in a field that is taken off on the way it does not leave', async () => {
    const answer = await ground.send('open.example', `GET / HTTP/1.1\r\nTE: ${placeholder}`);
    expect(answer.code).toBeNull();
    expect(ground.upstream.requests).toHaveLength(1);
    expect(ground.upstream.bytes).not.toContain(sign);
  });

  test('words that only look like it pass', async () => {
    const note = 'sallyport-placeholder-for-, sallyport-placeholder-for-monkey-the, c2FsbHlwb3J0';
    const answer = await ground.send('open.example', `GET /?a=%73ally HTTP/1.1\r\nX-Note: ${note}`);
    expect(answer.code).toBeNull();
    expect(ground.upstream.bytes).toContain(note);
  });
});
