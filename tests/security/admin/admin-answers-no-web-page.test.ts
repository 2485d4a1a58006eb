// A page in a browser that is led to the socket (a forwarding dev server, a DNS trick) must not drive the admin API:
// browsers say where a request comes from, and nothing that does is served.
import { describe, expect, test } from 'vitest';
import { ask } from '../../unit/gateway/admin/ask.ts';
import { startFake } from '../../unit/gateway/admin/fake-ports.ts';

describe('a request with an Origin is refused', () => {
  test.each(['http://localhost:8642', 'null', 'https://evil.example'])('from %s', async (origin) => {
    const gateway = await startFake();
    const set = await ask(gateway.socketPath, 'PUT', '/internal/credentials/a', 'x', { origin });
    expect([set.status, set.json.code]).toEqual([403, 'admin.browser']);
    expect((await ask(gateway.socketPath, 'GET', '/internal/containers', null, { origin })).status).toBe(403);
    expect(gateway.ports.secrets.size).toBe(0);
    await gateway.stop();
  });
});
