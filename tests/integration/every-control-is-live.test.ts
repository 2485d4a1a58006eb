import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

interface Health {
  readonly ready: boolean;
  readonly controls: readonly { readonly name: string; readonly live: boolean; readonly detail: string }[];
}

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ allow: [{ preset: 'anthropic' }] });
});

afterAll(() => gateway.stop());

describe('the running process says which controls are live', () => {
  test('every one of them, and the stages in their order', async () => {
    const reply = await gateway.admin('GET', '/internal/health');
    expect(reply.status).toBe(200);
    const health = reply.json<Health & Record<string, unknown>>();
    expect(health.ready).toBe(true);
    expect(health.controls.filter(({ live }) => !live)).toEqual([]);
    expect(health.controls.map(({ name }) => name)).toEqual([
      'path',
      'doors',
      'identity',
      'docker',
      'allowlist',
      'api-block',
      'pushes',
      'github',
      'approvals',
      'credentials',
      'scrub',
      'outbound',
      'memory',
      'addresses',
      'tls',
      'limits',
      'budgets',
      'store',
      'journal',
    ]);
    const path = health.controls.find(({ name }) => name === 'path');
    expect(path?.detail).toBe('accept -> identify -> authorize -> inject -> forward');
  });
});
