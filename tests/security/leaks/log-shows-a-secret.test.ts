// Attack: make the gateway log something that carries a credential, in whatever place it travels: the message, a
// nested object, an error and its causes, a URL, a list of headers, bytes.
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createLog, type LogDetail } from '../../../src/kit/text/log.ts';
import { HeaderList } from '../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../src/path/exchange/outgoing-request.ts';
import { Secret } from '../../../src/path/secret.ts';

function logged(message: string, detail?: LogDetail, format: 'json' | 'short' = 'json'): string {
  const lines: string[] = [];
  createLog({ format, color: false, level: 'debug', write: (line) => lines.push(line) }).error(message, detail);
  expect(lines).toHaveLength(1);
  return lines[0]!;
}

/** Both forms of the log, neither with the secret, and the JSON one still JSON. */
function expectHidden(planted: string, message: string, detail?: LogDetail): void {
  for (const format of ['json', 'short'] as const) {
    const line = logged(message, detail, format);
    expect(line, `${format}: ${line}`).not.toContain(planted);
    if (format === 'json') expect(() => JSON.parse(line)).not.toThrow();
  }
}

// Put together here so that no tool takes this file for a leak.
const tokens: readonly string[] = [
  `sk-${'a1B2'.repeat(8)}`,
  `sk-ant-api03-${'Zz9_'.repeat(10)}`,
  `sk-ant-oat01-${'Zz9-'.repeat(10)}`,
  `sk-proj-${'q7W8'.repeat(10)}`,
  `ghp_${'A1b2'.repeat(9)}`,
  `gho_${'A1b2'.repeat(9)}`,
  `ghs_${'A1b2'.repeat(9)}`,
  `ghu_${'A1b2'.repeat(9)}`,
  `ghr_${'A1b2'.repeat(9)}`,
  `github_pat_${'A1b2_'.repeat(14)}`,
  `glpat-${'A1b2-'.repeat(4)}`,
  `xoxb-${'1234567890-'.repeat(3)}abc`,
  `xoxp-${'1234567890-'.repeat(3)}abc`,
  `AIza${'Sy1_'.repeat(9)}`,
  `ya29.${'a0Af'.repeat(9)}`,
  `AKIA${'ABCD1234'.repeat(2)}`,
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${'c2ln'.repeat(8)}`,
  `hf_${'AbCd'.repeat(8)}`,
  `gsk_${'AbCd'.repeat(8)}`,
  `npm_${'AbCd'.repeat(9)}`,
  `pypi-${'AgEI'.repeat(10)}`,
  `xai-${'AbCd'.repeat(8)}`,
];

describe('a token of a known shape is masked wherever it stands', () => {
  test.each(tokens)('%s', (token) => {
    expectHidden(token, `the upstream said: bad key ${token}, try another`);
    expectHidden(token, `glued:(${token})`);
    expectHidden(token, `key_${token}`);
    expectHidden(token, 'x', { deep: { deeper: [{ text: `value ${token}` }] } });
    expectHidden(token, 'x', { [`field ${token}`]: 1 });
    expectHidden(token, 'x', { error: new Error(`failed with ${token}`) });
    expectHidden(token, 'x', { error: new Error('outer', { cause: new Error('inner', { cause: token }) }) });
    expectHidden(token, 'x', { url: new URL(`https://api.example.com/${token}/x`) });
    expectHidden(token, 'x', { map: new Map([['k', token]]), set: new Set([token]) });
  });
});

describe('auth fields are dropped whatever their value looks like', () => {
  // No known shape: only the place gives it away.
  const plain = 'correct-horse-battery-staple';
  const fields = [
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'X-Api-Key',
    'x-goog-api-key',
    'PRIVATE-TOKEN',
  ];

  test.each(fields)('%s', (name) => {
    expectHidden(plain, `request had ${name}: ${plain}`);
    expectHidden(plain, `{"${name}":"${plain}"}`);
    expectHidden(plain, JSON.stringify(JSON.stringify({ [name]: plain })));
    expectHidden(plain, inspect({ headers: [name, plain] }));
    expectHidden(plain, 'x', { headers: { [name]: plain, accept: '*/*' } });
    expectHidden(plain, 'x', { a: { b: { c: { headers: { [name]: [plain, plain] } } } } });
    expectHidden(plain, 'x', { rawHeaders: ['Accept', '*/*', name, plain, 'Host', 'h'] });
    expectHidden(plain, 'x', { pairs: [[name, plain]] });
    expectHidden(plain, 'x', { rawHeaders: [Buffer.from(name), plain] });
    expectHidden(plain, 'x', { field: { name, value: plain } });
    expectHidden(plain, 'x', {
      list: HeaderList.from([
        ['Accept', '*/*'],
        [name, plain],
      ]),
    });
    expectHidden(plain, 'x', { map: new Map([[name, plain]]) });
    expectHidden(plain, 'x', { error: Object.assign(new Error('no'), { headers: { [name]: plain } }) });
  });

  test.each([
    'password',
    'clientSecret',
    'client_secret',
    'apiKey',
    'API_KEY',
    'accessToken',
    'refresh_token',
    'privateKey',
  ])('a property called %s', (name) => {
    expectHidden(plain, 'x', { config: { [name]: plain } });
    expectHidden(plain, 'x', { error: Object.assign(new Error('no'), { [name]: plain }) });
    expectHidden(plain, `POST body was ${name}=${plain}&grant_type=x`);
    expectHidden(plain, `answer {"${name}": "${plain}", "expires_in": 3600}`);
  });

  test.each(['Bearer', 'bearer', 'Basic', 'token'])('a %s value without its field', (scheme) => {
    expectHidden('dXNlcjpwYXNzd29yZA', `sent ${scheme} dXNlcjpwYXNzd29yZA== upstream`);
  });
});

describe('URLs lose what authenticates', () => {
  test('userinfo and query values go, names and path stay', () => {
    const line = logged(
      'GET https://user:pa55word@api.example.com:8443/v1/x?key=abcdef&alt=sse#access_token=zyx failed',
    );
    expect(line).toContain('https://api.example.com:8443/v1/x?key=***&alt=***#access_token=***');
    expect(line).not.toMatch(/pa55word|abcdef|zyx/);
  });

  test('in a URL object, in search parameters, and in an origin-form target', () => {
    expectHidden('abcdef', 'x', { url: new URL('https://h.example/p?key=abcdef') });
    expectHidden('pa55', 'x', { url: new URL('https://user:pa55@h.example/p') });
    expectHidden('abcdef', 'x', { query: new URLSearchParams({ key: 'abcdef' }) });
    expectHidden('abcdef', 'GET /v1/models?key=abcdef HTTP/1.1');
    expectHidden('pa55', 'redis://:pa55@127.0.0.1:6379/0');
    expectHidden('B4re'.repeat(10), `https://h.example/p?${'B4re'.repeat(10)}`);
  });
});

describe('what cannot be read as text is not printed', () => {
  test('bytes become their count', () => {
    const line = logged('x', { chunk: Buffer.from('planted-bytes'), view: new Uint8Array([1, 2, 3]) });
    expect(line).toContain('[13 bytes]');
    expect(line).toContain('[3 bytes]');
    expectHidden('planted-bytes', 'x', { a: [Buffer.from('planted-bytes')] });
    expectHidden(Buffer.from('planted').toJSON().data.join(','), 'x', { b: Buffer.from('planted') });
  });

  test('a Secret gives its name, an outgoing request nothing', () => {
    const secret = new Secret('anthropic', 'correct-horse-battery');
    expectHidden('correct-horse', 'x', { secret, list: [secret], held: { credential: secret } });
    expect(logged('x', { held: { credential: secret } })).toContain('[secret anthropic]');
    const outgoing = new OutgoingRequest('/x?key=correct-horse', HeaderList.from([['x-custom', 'correct-horse']]));
    expectHidden('correct-horse', 'x', { outgoing });
    class Elsewhere {
      readonly value = 'correct-horse';
      toString(): string {
        return '[secret]';
      }
    }
    Object.defineProperty(Elsewhere, 'name', { value: 'Secret' });
    expectHidden('correct-horse', 'x', { other: new Elsewhere() });
  });

  test('a private key, whole or cut off', () => {
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEplanted\n'.repeat(5)}-----END RSA PRIVATE KEY-----`;
    expectHidden('MIIEplanted', `loaded ${key} from disk`);
    expectHidden('MIIEplanted', 'x', { error: new Error(key) });
    expectHidden('MIIEplanted', key.slice(0, 70));
    expectHidden('MIIEplanted', JSON.stringify({ pem: key }));
  });
});

describe('errors are followed to their root', () => {
  const plain = 'Bearer dXNlcjpwYXNzd29yZA';

  test('message, stack, cause chain, aggregate and own properties', () => {
    const root = new Error(`root ${plain}`);
    const aggregate = new AggregateError([root, new Error(`second ${plain}`)], `all ${plain}`);
    const error = new Error(`outer ${plain}`, { cause: aggregate });
    Object.assign(error, { request: { url: 'https://u:dXNlcjpwYXNzd29yZA@h.example' }, code: 'EFAIL' });
    expectHidden('dXNlcjpwYXNzd29yZA', 'failed', { error });
    const entry = JSON.parse(logged('failed', { error }));
    expect(entry.error).toMatchObject({ type: 'Error', message: 'outer Bearer ***', code: 'EFAIL' });
    expect(entry.error.stack).toContain('log-shows-a-secret.test.ts');
    expect(entry.error.cause.errors[0].message).toBe('root Bearer ***');
  });

  test('a child log masks what it always says', () => {
    const lines: string[] = [];
    const log = createLog({ format: 'json', write: (line) => lines.push(line) });
    log
      .child({ headers: { authorization: 'planted-one' } })
      .child({ note: plain })
      .info('hello');
    expect(lines[0]).not.toMatch(/planted-one|dXNlcjp/);
    expect(lines[0]).toContain('"msg":"hello"');
  });
});
