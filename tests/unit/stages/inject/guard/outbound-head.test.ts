import { describe, expect, test } from 'vitest';
import { Secret } from '../../../../../src/path/secret.ts';
import { loadPolicyText } from '../../../../../src/policy/load/load-policy.ts';
import { thisMachine } from '../../../../../src/policy/load/machine-files.ts';
import {
  anthropicPlaceholder,
  codexPlaceholder,
  encodings,
  githubPlaceholder,
  guardWith,
  realValue,
  requestTo,
  saidTo,
} from '../scrub/outbound-ground.ts';

const misplaced = 'secret.placeholder-misplaced';
const outbound = 'secret.value-outbound';

describe('a placeholder is at home at the hosts of its credential alone', () => {
  test.each([
    [
      'github in a login of git',
      'github.com',
      'authorization',
      `Basic ${Buffer.from(`x:${githubPlaceholder}`).toString('base64')}`,
    ],
    ['github at its API', 'api.github.com', 'authorization', `token ${githubPlaceholder}`],
    ['anthropic at its API', 'api.anthropic.com', 'x-api-key', anthropicPlaceholder],
    ['a login at its token endpoint', 'login.example', 'authorization', `Bearer ${codexPlaceholder}`],
  ])('%s passes', (_what, name, field, value) => {
    const flow = requestTo(name, { headers: [[field, value]] });
    expect(saidTo(guardWith(), flow)).toBeNull();
    expect(flow.incident).toBeUndefined();
  });

  test.each([
    ['a field', { headers: [['X-Note', `a ${githubPlaceholder}`]] }, 'the field x-note'],
    ['Authorization', { headers: [['AUTHORIZATION', `Bearer ${githubPlaceholder}`]] }, 'the field authorization'],
    ['a cookie', { headers: [['Cookie', `a=b; t=${githubPlaceholder}`]] }, 'the field cookie'],
    ['the name of a field', { headers: [[`X-${githubPlaceholder}`.slice(0, 60), '1']] }, 'the name of a field'],
    ['the path', { canonical: { rawPath: `/a/${githubPlaceholder}/b` } }, 'the path'],
    ['the query', { canonical: { query: `a=1&q=${githubPlaceholder}` } }, 'the query'],
    ['a name in the query', { canonical: { query: githubPlaceholder } }, 'the query'],
  ] as const)('in %s of a request to another host it is refused', (_what, parts, place) => {
    const flow = requestTo('open.example', parts);
    const refusal = saidTo(guardWith(), flow);
    expect(refusal).toMatchObject({ code: misplaced, status: 403, rule: 'secrets.misplaced' });
    expect(refusal!.message).toContain('github');
    expect(refusal!.message).toContain(place);
    expect(refusal!.hint).not.toBe('');
    expect(flow.incident).toBe(`placeholder of github in ${place}`);
    expect(`${refusal!.message} ${refusal!.hint}`).not.toContain('sallyport-placeholder');
  });

  test('the operator is not told to give a credential of a preset other hosts, which no policy takes', async () => {
    const { hint } = saidTo(guardWith(), requestTo('open.example', { headers: [['X-Note', githubPlaceholder]] }))!;
    expect(hint).toContain('one of a preset has fixed hosts, and a credential of another name is made for this one.');
    const made = (name: string) =>
      loadPolicyText(
        `version: 1\nallow: [{ preset: github }, { host: open.example }]\ncredentials: { ${name}: { hosts: open.example, inject: { bearer: true } } }\n`,
        '/etc/sallyport.yaml',
        '/etc',
        thisMachine(),
      );
    expect((await made('github')).ok).toBe(false);
    expect((await made('open')).ok).toBe(true);
  });

  test('in a label of a host that a wildcard covers it is refused', () => {
    const label = githubPlaceholder.toLowerCase().slice(0, 60);
    const refusal = saidTo(guardWith(), requestTo(`${label}.files.example`));
    expect(refusal).toMatchObject({ code: misplaced });
    expect(refusal!.message).toContain('the host name');
  });

  test('a value in hexadecimal is found where there is no upper case', () => {
    const hex = Buffer.from(realValue).toString('hex');
    for (const one of [
      requestTo(`${hex}.files.example`),
      requestTo('open.example', { headers: [[`X-${hex}`, '1']] }),
    ]) {
      const refusal = saidTo(guardWith(), one);
      expect(refusal).toMatchObject({ code: outbound });
      expect(refusal!.message).toMatch(/the host name|the name of a field/);
    }
  });

  test('a host that was clean is searched again when something else becomes known', () => {
    const ground = guardWith();
    const name = 'ghs-another-token-4711.files.example';
    expect(saidTo(ground, requestTo(name))).toBeNull();
    ground.known.note(new Secret('github', 'GHS-another-Token-4711'));
    expect(saidTo(ground, requestTo(name))).toMatchObject({ code: outbound });
  });

  test('a field that was clean at one host is searched at another, and again when something else becomes known', () => {
    const ground = guardWith();
    const headers = [['x-note', `${githubPlaceholder} ghs-another-token-4711`]] as const;
    for (let i = 0; i < 2; i++) expect(saidTo(ground, requestTo('github.com', { headers }))).toBeNull();
    expect(saidTo(ground, requestTo('open.example', { headers }))).toMatchObject({ code: misplaced });
    ground.known.note(new Secret('github', 'ghs-another-token-4711'));
    expect(saidTo(ground, requestTo('github.com', { headers }))).toMatchObject({ code: outbound });
  });

  test('more hosts and fields than are remembered are searched all the same', () => {
    const ground = guardWith();
    for (let i = 0; i < 5000; i++) {
      const headers = [['x-note', `a note that is long enough to be searched ${i}`]] as const;
      expect(saidTo(ground, requestTo('open.example', { headers }))).toBeNull();
    }
    const headers = [['x-note', githubPlaceholder]] as const;
    expect(saidTo(ground, requestTo('open.example', { headers }))).toMatchObject({ code: misplaced });
  });

  test('one of another credential at a host with a credential of its own is refused', () => {
    const flow = requestTo('api.anthropic.com', { headers: [['x-note', githubPlaceholder]] });
    expect(saidTo(guardWith(), flow)).toMatchObject({ code: misplaced });
  });

  test('where its field or parameter is taken off on the way it never leaves, and passes', () => {
    const ground = guardWith();
    const field = requestTo('chat.example', { headers: [['authorization', `Bearer ${githubPlaceholder}`]] });
    expect(saidTo(ground, field)).toBeNull();
    const query = { query: `key=${githubPlaceholder}&a=${codexPlaceholder}` };
    expect(saidTo(ground, requestTo('chat.example', { canonical: query }))).toBeNull();
    const both = { query: `key=${githubPlaceholder}&b=${githubPlaceholder}` };
    expect(saidTo(ground, requestTo('chat.example', { canonical: both }))).toMatchObject({ code: misplaced });
    const real = { query: `key=${encodeURIComponent(realValue)}` };
    expect(saidTo(ground, requestTo('chat.example', { canonical: real }))).toMatchObject({ code: outbound });
  });

  test('what proves the sandbox to the proxy is not looked at', () => {
    const flow = requestTo('open.example', { headers: [['proxy-authorization', githubPlaceholder]] });
    expect(saidTo(guardWith(), flow)).toBeNull();
  });

  test.each(encodings)('%s', (_name, encode) => {
    const query = `a=1&q=${encode(githubPlaceholder)}`;
    expect(saidTo(guardWith(), requestTo('open.example', { canonical: { query } }))).toMatchObject({ code: misplaced });
  });

  test('percent-encoded twice, as a URL in a URL is', () => {
    const twice = encodeURIComponent(Buffer.from(githubPlaceholder).toString('hex').replace(/../g, '%$&'));
    const flow = requestTo('open.example', { canonical: { rawPath: `/${twice}` } });
    expect(saidTo(guardWith(), flow)).toMatchObject({ code: misplaced });
  });

  test('escaped as JSON and then for a URL, as JSON in a query is', () => {
    const json = Buffer.from(githubPlaceholder).toString('hex').replace(/../g, '\\u00$&');
    const flow = requestTo('open.example', { canonical: { query: `q=${encodeURIComponent(json)}` } });
    expect(saidTo(guardWith(), flow)).toMatchObject({ code: misplaced });
  });
});

describe('a real value goes nowhere', () => {
  test.each(['open.example', 'github.com', 'api.anthropic.com', 'login.example'])('not to %s', (name) => {
    const flow = requestTo(name, { headers: [['authorization', `Bearer ${realValue}`]] });
    const refusal = saidTo(guardWith(), flow);
    expect(refusal).toMatchObject({ code: outbound, status: 403, rule: 'secrets.misplaced' });
    expect(`${refusal!.message} ${refusal!.hint}`).not.toContain(realValue);
    expect(flow.incident).toBe('value of github in the field authorization');
  });

  test.each(encodings)('%s', (_name, encode) => {
    const flow = requestTo('github.com', { headers: [['x-note', encode(realValue)]] });
    expect(saidTo(guardWith(), flow)).toMatchObject({ code: outbound });
  });

  test('hidden by a placeholder that is at home, and ends as it begins', () => {
    const ground = guardWith();
    ground.known.note(new Secret('github', 'e-gateway-0123456789'));
    const flow = requestTo('github.com', { headers: [['x', `${githubPlaceholder.slice(0, 39)}e-gateway-0123456789`]] });
    expect(saidTo(ground, flow)).toMatchObject({ code: outbound });
  });

  test('a word of fewer than eight letters is not taken for a value', () => {
    const ground = guardWith();
    ground.known.note(new Secret('github', 'hunter2'));
    const flow = requestTo('open.example', { headers: [['x-note', 'the film about the hunter2 of Oz']] });
    expect(saidTo(ground, flow)).toBeNull();
  });

  test('what is written down about a request has stars in its place, in any case', () => {
    const { guard } = guardWith();
    expect(guard.masked(`/a/${realValue}/é`)).toBe(`/a/${'*'.repeat(realValue.length)}/é`);
    expect(guard.masked(`${realValue.toLowerCase()}.example`)).not.toContain('7f3a');
    expect(guard.masked(`/a/${githubPlaceholder}`)).toContain(githubPlaceholder);
    expect(guard.masked('/short')).toBe('/short');
  });
});

describe('what happens to a sandbox that sends one', () => {
  test('nothing more than the refusal, as the policy says', async () => {
    const ground = guardWith();
    saidTo(ground, requestTo('open.example', { canonical: { query: githubPlaceholder } }));
    await new Promise(setImmediate);
    expect(ground.revoked).toEqual([]);
  });

  test('it is unregistered, and the operator hears of it, once it was told', async () => {
    const ground = guardWith({ misplaced: 'revoke' });
    const refusal = saidTo(ground, requestTo('open.example', { canonical: { query: githubPlaceholder } }));
    expect(refusal!.hint).toContain('unregistered');
    expect(ground.revoked).toEqual([]);
    await new Promise(setImmediate);
    expect(ground.revoked).toEqual(['sbx']);
    expect(ground.reports).toHaveLength(1);
  });
});
