import { describe, expect, test } from 'vitest';
import type { HealthReport } from '../../../../src/gateway/admin/admin-ports.ts';
import { isWell } from '../../../../src/prove/doctor/finding.ts';
import { judgeGateway } from '../../../../src/prove/doctor/judge-gateway.ts';
import { judgeSandbox, type SandboxFacts } from '../../../../src/prove/doctor/judge-sandbox.ts';

const socket = '/s/run/admin.sock';
const report = {
  ready: true,
  version: '1.0.0',
  config: '/etc/sallyport.yaml',
  doors: [],
  ca: '/s/ca/ca.pem',
  sandboxes: 1,
  controls: [
    { name: 'path', live: true, detail: 'accept -> forward' },
    { name: 'journal', live: true, detail: 'record 5' },
  ],
  warnings: [],
} as unknown as HealthReport;

describe('the running gateway is asked what is live in it', () => {
  test('every control is a line', () => {
    const findings = judgeGateway({ state: 'running', socket, report, troubles: [] });
    expect(findings.map(({ name }) => name)).toEqual(['running', 'config', 'path', 'journal']);
    expect(isWell(findings)).toBe(true);
  });

  test('a journal that is off fails, another control that is off is a warning, and both say OFF', () => {
    const off = ['journal', 'allowlist', 'api-block'].map((name) => ({ name, live: false, detail: 'why' }));
    const findings = judgeGateway({ state: 'running', socket, report: { ...report, controls: off }, troubles: [] });
    const states = Object.fromEntries(findings.map(({ name, state }) => [name, state]));
    expect(states).toMatchObject({ journal: 'fail', allowlist: 'fail', 'api-block': 'warn' });
    expect(findings.filter(({ says }) => says === 'OFF: why')).toHaveLength(3);
  });

  test('a warning of the gateway is passed on', () => {
    const findings = judgeGateway({
      state: 'running',
      socket,
      report: { ...report, warnings: ['the CA ends soon'] },
      troubles: [],
    });
    expect(findings.at(-1)).toMatchObject({ state: 'warn', says: 'the CA ends soon' });
  });

  test('one that listens and gives no report fails; none at all does not', () => {
    expect(isWell(judgeGateway({ state: 'unwell', socket, said: 'not ready' }))).toBe(false);
    const config = { ok: true, origin: 'embedded default', rules: 3, warnings: [], troubles: [] } as const;
    expect(isWell(judgeGateway({ state: 'none', socket, config }))).toBe(true);
  });

  test('a credential that cannot be used is not well, whether a gateway runs or not', () => {
    const troubles = ['the credential github cannot be used: run  chmod 600 /k'];
    const config = { ok: true, origin: 'embedded default', rules: 3, warnings: [], troubles } as const;
    for (const facts of [
      { state: 'running', socket, report, troubles } as const,
      { state: 'none', socket, config } as const,
    ])
      expect(judgeGateway(facts).at(-1)).toMatchObject({ name: 'credential', state: 'fail', says: troubles[0] });
  });

  test('where none runs, a configuration that would be refused fails with its errors', () => {
    const config = { ok: false, errors: ['a.yaml:1:1: no version'] } as const;
    const findings = judgeGateway({ state: 'none', socket, config });
    expect(findings.at(-1)).toMatchObject({ state: 'fail', says: 'a.yaml:1:1: no version' });
  });
});

describe('one sandbox', () => {
  const nowMs = Date.UTC(2026, 5, 1);
  const facts: SandboxFacts = {
    record: {
      id: 'sbx_1',
      created_at: '2026-05-31T00:00:00.000Z',
      expires_at: '2026-06-01T20:00:00.000Z',
      expiry_is_final: false,
      proof: ['socket'],
      namespace: { pid: 77 },
      socket: null,
      repos: ['o/r'],
      auth_mode: 'bot',
      allowed_branches: ['sandbox/*'],
      credentials: ['anthropic', 'github'],
    },
    credentials: [
      { name: 'anthropic', source: 'memory', set: true },
      { name: 'github', source: 'file', set: false },
      { name: 'openai', source: 'memory', set: true },
    ],
    refused: [],
    nowMs,
    holderLives: true,
  };
  const find = (more: Partial<SandboxFacts>, name: string) =>
    judgeSandbox({ ...facts, ...more }).find((finding) => finding.name === name)!;

  test('its door, its repositories and the credentials that it has', () => {
    expect(find({}, 'door').says).toBe('in its own network namespace (process 77); proof: socket');
    expect(find({}, 'repositories').says).toBe('o/r; pushes to sandbox/*');
    expect(find({}, 'credentials').says).toBe('anthropic');
    expect(find({}, 'credential')).toMatchObject({ state: 'warn', says: 'github is granted and not set' });
  });

  test('a door whose sandbox is gone fails, an end that is near is a warning', () => {
    expect(find({ holderLives: false }, 'door').state).toBe('fail');
    expect(find({}, 'expiry').state).toBe('ok');
    expect(find({ nowMs: Date.parse('2026-06-01T19:30:00Z') }, 'expiry')).toMatchObject({
      state: 'warn',
      fix: 'sallyport renew sbx_1',
    });
    expect(find({ nowMs: Date.parse('2026-06-01T21:00:00Z') }, 'expiry').state).toBe('fail');
  });

  test('a refusal is told with what would make it pass', () => {
    const refused = {
      time: '2026-06-01T00:00:01.123Z',
      method: 'GET',
      target: 'example.com/',
      code: 'domain.not-allowed',
      rule: 'allow (no rule)',
      reason: 'not on the list',
    };
    const hint = 'add\n  - host: example.com';
    const told = (now: SandboxFacts['refused'][number]['now']) => find({ refused: [{ ...refused, now }] }, '00:00:01');
    expect(told({ allowed: false, code: 'domain.not-allowed', hint })).toMatchObject({
      state: 'warn',
      says: 'GET example.com/: not on the list (domain.not-allowed)',
      fix: hint,
    });
    expect(told({ allowed: true, code: 'allowed', hint: '' }).fix).toContain('would pass');
    expect(told(null).fix).toContain('allow (no rule)');
    expect(told({ allowed: false, code: 'undecided', hint }).fix).toContain('allow (no rule)');
  });
});
