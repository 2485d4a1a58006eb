import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { makeNamespace, type TestNamespace } from '../../support/namespace.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

let gateway: TestGateway;
let namespace: TestNamespace;

beforeAll(async () => {
  gateway = await startTestGateway({ allow: [{ host: 'api.example.com' }] });
  namespace = await makeNamespace();
});

afterAll(async () => {
  await namespace.end();
  await gateway.stop();
});

const listening = async (): Promise<string> => (await namespace.run(['ss', '-Htuln'])).stdout.trim();

describe('a sandbox that is unregistered while its door is being opened', () => {
  test('leaves no door behind in its namespace, where nobody could close it any more', async () => {
    const registering = gateway.admin('POST', '/internal/containers', {
      id: 'gone',
      namespace: { pid: namespace.pid },
    });
    await eventually(
      async () => (await gateway.admin('GET', '/internal/containers/gone')).status === 200,
      'it is there',
    );
    expect((await gateway.admin('DELETE', '/internal/containers/gone')).status).toBe(204);
    const reply = await registering;
    expect(await listening()).toBe('');
    // Had the door been quicker, it was cut with its sandbox; mostly it is not.
    expect([201, 500]).toContain(reply.status);
  });

  test('a sandbox that stays has its door', async () => {
    await gateway.register({ id: 'here', namespace: { pid: namespace.pid } });
    expect(await listening()).toContain(':443');
  });
});
