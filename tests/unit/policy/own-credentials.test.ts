// Credentials of one's own as they stand in the document: where a placeholder stands for them, and the forms in which they go out.
import { describe, expect, test } from 'vitest';
import type { CredentialSpec } from '../../../src/policy/compiled.ts';
import { explainPolicy } from '../../../src/policy/explain/explain-policy.ts';
import { errorsOf, policyOf } from './pretend-machine.ts';

const head = 'version: 1\nallow: [{preset: anthropic}, {host: api.example.com}]\n';
const own = (rest: string, inject = '{bearer: true}'): string =>
  `${head}credentials: {own: {hosts: api.example.com, inject: ${inject}, ${rest}}}\n`;

async function ownOf(rest: string, inject?: string): Promise<CredentialSpec> {
  return (await policyOf(own(rest, inject))).credentials.get('own')!;
}

async function problems(text: string): Promise<string> {
  return (await errorsOf(text)).map(({ path, message }) => `${path}: ${message}`).join('\n');
}

describe('a placeholder', () => {
  test('stands in variables, in a file, or in both', async () => {
    expect((await ownOf('placeholder: {env: MY_KEY}')).placeholder).toEqual({
      variables: ['MY_KEY'],
      file: null,
      prefix: null,
    });
    expect(
      (await ownOf('placeholder: {env: [A, B], file: "~/.my/token.toml", text: "t = {placeholder}", prefix: sk_}'))
        .placeholder,
    ).toEqual({
      variables: ['A', 'B'],
      file: { path: '.my/token.toml', text: 't = {placeholder}' },
      prefix: 'sk_',
    });
  });

  test('is for credentials of presets too', async () => {
    const policy = await policyOf(`${head}credentials: {anthropic: {placeholder: {env: CLAUDE_KEY}}}\n`);
    expect(policy.credentials.get('anthropic')!.placeholder?.variables).toEqual(['CLAUDE_KEY']);
  });

  test.each([
    ['{env: PATH}', 'the sandbox needs it for itself'],
    ['{env: LD_PRELOAD}', 'the sandbox needs it for itself'],
    ['{env: HTTPS_PROXY}', 'the sandbox needs it for itself'],
    ['{env: "A B"}', 'the name of a variable'],
    ['{file: /etc/token}', 'below the home'],
    ['{file: "~/../x"}', 'below the home'],
    ['{file: "~/a//b"}', 'below the home'],
    ['{file: "~/a", text: nothing}', '{placeholder}'],
    ['{text: "{placeholder}"}', 'where the sandbox finds it'],
    ['{env: A, text: "{placeholder}"}', '`text` goes with `file` only'],
    ['{env: A, value: x}', 'unknown key'],
    ['{}', 'where the sandbox finds it'],
  ])('%s is an error with its place', async (placeholder, message) => {
    const [error, ...more] = await errorsOf(own(`placeholder: ${placeholder}`));
    expect(more).toEqual([]);
    expect(error!.path).toMatch(/^credentials\.own\.placeholder/);
    expect(error!.message).toContain(message);
    expect(error!.line).toBe(3);
  });

  test('has a place and words of its own', async () => {
    const two = (a: string, b: string, place = 'TOKEN'): string =>
      `${head}credentials:
  ${a}: {hosts: api.example.com, inject: {bearer: true}, placeholder: {env: TOKEN}}
  ${b}: {hosts: api.example.com, inject: {query: key}, placeholder: {env: ${place}}}
`;
    expect(await problems(two('one', 'other'))).toContain('TOKEN is already the placeholder of one');
    expect(await problems(two('my.api', 'my_api', 'OTHER'))).toContain('its placeholder would be that of my.api');
  });

  test('is named where the policy is explained', async () => {
    const policy = await policyOf(own('placeholder: {env: MY_KEY, file: "~/.my/token"}', '{json: /auth/token}'));
    const sandbox = { repos: [], authMode: 'bot', allowedBranches: [], credentials: null } as const;
    const said = explainPolicy(policy, sandbox, { audience: 'sandbox' }).flatMap(({ sentences }) => sentences);
    expect(said.join('\n')).toContain(
      'own goes to api.example.com as /auth/token of a JSON body. The sandbox finds a placeholder for it in MY_KEY and ~/.my/token.',
    );
  });
});

describe('a form in which a credential goes out', () => {
  test.each([
    ['{path: true}', { kind: 'path', pattern: null }],
    ['{path: "/bot{credential}/**"}', { kind: 'path', pattern: '/bot{credential}/**' }],
    ['{json: /auth/to~1ken}', { kind: 'json', pointer: ['auth', 'to/ken'], shown: '/auth/to~1ken' }],
    ['{form: client_secret}', { kind: 'form', field: 'client_secret' }],
    [
      '{hmac: {format: github}}',
      {
        kind: 'hmac',
        hmac: { format: 'hex', algorithm: 'sha256', header: 'X-Hub-Signature-256', prefix: 'sha256=' },
      },
    ],
    [
      '{hmac: {format: base64, header: X-Sign, algorithm: sha512}}',
      { kind: 'hmac', hmac: { format: 'base64', algorithm: 'sha512', header: 'X-Sign', prefix: '' } },
    ],
  ])('%s', async (inject, injection) => {
    expect((await ownOf('anonymous: false', inject)).placements[0]!.injection).toEqual(injection);
  });

  test.each([
    ['{path: bot}', 'once in it'],
    ['{path: "/bot{credential}/{credential}"}', 'once in it'],
    ['{path: false}', 'write true'],
    ['{json: auth/token}', 'JSON pointer'],
    ['{json: "/"}', 'JSON pointer'],
    ['{form: "a b"}', 'plain name'],
    ['{hmac: {format: hex}}', 'which header'],
    ['{hmac: {format: slack, header: X}}', 'says the rest itself'],
    ['{hmac: {format: md5}}', 'write slack'],
    ['{hmac: {format: hex, header: User-Agent}}', 'send this field back'],
    ['{hmac: {format: hex, header: X, key: abc}}', 'unknown key'],
    ['{path: true, bearer: true}', 'exactly one'],
  ])('%s is an error with its place', async (inject, message) => {
    const found = await errorsOf(own('anonymous: false', inject));
    expect(found[0]!.path).toMatch(/^credentials\.own\.inject/);
    expect(found.map((error) => error.message).join('\n')).toContain(message);
  });

  test('what the client itself sends in the fields of a signature is removed', async () => {
    const slack = await ownOf('anonymous: false', '{hmac: {format: slack}}');
    expect(slack.stripHeaders).toEqual(expect.arrayContaining(['x-slack-signature', 'x-slack-request-timestamp']));
  });
});

describe('a client certificate', () => {
  const policyText = (rest: string): string => `${head}credentials: {own: {hosts: api.example.com, ${rest}}}\n`;

  test.each([
    ['anonymous: true', 'write how it goes out'],
    ['client_certificate: {cert: client.pem}', 'absolute path'],
    ['client_certificate: {cert: /no/such.pem, key: {file: /k}}', 'cannot read /no/such.pem'],
    ['client_certificate: {cert: /x, key: abc}', 'a secret is never written into this file'],
    ['client_certificate: {cert: /x}, source: {file: /s}', 'there is no `inject`'],
    ['client_certificate: {cert: /x, pin: 1}', 'unknown key'],
  ])('%s is an error', async (rest, message) => {
    expect(await problems(policyText(rest))).toContain(message);
  });
});
