import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeOfRule } from '../../../../src/policy/explain/rule-place.ts';
import { LivePolicy } from '../../../../src/policy/load/live-policy.ts';
import { keepSource } from '../../../../src/policy/load/policy-source.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';
import { pretendMachine } from '../pretend-machine.ts';

const text = `version: 1
# who may be reached
allow:
  - preset: anthropic
  - host: docs.example.com
    methods: [GET]
  - {host: "*.example.org", ask: true}
credentials:
  my.key:
    hosts: [docs.example.com]
    inject: {header: x-key}
policy:
  blocked_api_patterns:
    DELETE:
      - ^/repos/
      - "^/orgs/"
  protected_branches: [release]
limits:
  requests_per_minute: 100
  gateway:
    connections: 50
github:
  effects:
    bot:
      ask: [release]
`;

let folder: string;
let file: string;
let live: LivePolicy;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-place-'));
  file = join(folder, 'sallyport.yaml');
  writeFileSync(file, text);
  live = await LivePolicy.open(file, machine());
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const machine = () => ({ ...pretendMachine(), readText: () => fileText });
let fileText = text;

describe('a rule is found where it was written', () => {
  test.each([
    ['allow[0] (preset anthropic)', 4, '- preset: anthropic'],
    ['allow[1]', 5, '- host: docs.example.com'],
    ['allow[2]', 7, '- {host: "*.example.org", ask: true}'],
    ['allow[1], allow[2]', 5, '- host: docs.example.com'],
    ['allow (no rule covers the host)', 3, 'allow:'],
    ['policy.blocked_api_patterns.DELETE[1]', 16, '- "^/orgs/"'],
    ['policy.protected_branches[0]', 17, 'protected_branches: [release]'],
    ['limits.requests_per_minute', 19, 'requests_per_minute: 100'],
    ['limits.gateway.connections', 21, 'connections: 50'],
    ['github.effects.bot', 24, 'bot:'],
    ['github.effects.bot.ask', 25, 'ask: [release]'],
    ['credentials.my.key', 9, 'my.key:'],
  ])('%s', (rule, line, written) => {
    expect(placeOfRule(live.current, rule)).toEqual({ file, line, text: written });
  });
});

describe('there is no place to show', () => {
  test.each([
    'built-in: public addresses only',
    'repos of the registration',
    'proof: mtls',
    'allow[9]',
    'policy.protected_branches[1]',
    'policy.allow_force_push',
    'github.effects.user',
    'limits.burst',
    'credentials.other',
    'approval a1',
    'constructor',
    '',
  ])('for %s', (rule) => {
    expect(placeOfRule(live.current, rule)).toBeNull();
  });

  test('for a policy that was not made from a text', () => {
    expect(placeOfRule(handMadePolicy({ allow: [{ host: 'docs.example.com' }] }), 'allow[0]')).toBeNull();
  });
});

test('what looks like a credential on the line is not shown', () => {
  const policy = handMadePolicy({});
  keepSource(policy, {
    file: 'sallyport.yaml',
    text: 'limits:\n  requests_per_minute: 5 # password=hunter22\n',
    madeAtMs: 0,
  });
  const place = placeOfRule(policy, 'limits.requests_per_minute');
  expect(place).toMatchObject({ line: 2, text: 'requests_per_minute: 5 # password=***' });
});

test('a file that was edited since and rejected does not move the lines of the policy in force', async () => {
  fileText = `version: 1\n\n\n\nallow:\n  - host: docs.example.com\n    surprise: yes\n`;
  await expect(live.reload()).rejects.toThrow();
  expect(placeOfRule(live.current, 'allow[1]')?.line).toBe(5);
  fileText = 'version: 1\nallow:\n\n  - host: other.example.com\n';
  await live.reload();
  expect(placeOfRule(live.current, 'allow[0]')).toMatchObject({ line: 4, text: '- host: other.example.com' });
  expect(placeOfRule(live.current, 'allow[1]')).toBeNull();
});
