import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IdentityWithKey } from '../../../src/stages/accept/tls/identity-ca.ts';
import { askPlainly, dialMtls } from '../../support/mtls-client.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';
import { Wire } from '../../support/wire.ts';

const places = 3;
let gateway: TestGateway;
let port: number;

beforeAll(async () => {
  gateway = await startTestGateway({
    listen: { proxy: '127.0.0.1:0', mtls: '127.0.0.1:0' },
    allow: [{ host: 'api.example.com' }],
    limits: { connections: places },
  });
  const door = gateway.gateway.summary.doors.find((name) => name.startsWith('mtls '));
  port = Number(/:(\d+)$/.exec(door ?? '')?.[1]);
});

afterAll(() => gateway.stop());

async function identityOf(id: string): Promise<IdentityWithKey> {
  const { grant } = await gateway.register({ id, proof: ['mtls'] });
  return (grant as { identity: IdentityWithKey }).identity;
}

describe('sandboxes behind one address, as behind one router', () => {
  test('one that holds every connection it may have takes none from the other', async () => {
    const [greedy, other] = [await identityOf('greedy'), await identityOf('other')];
    const trusted = greedy.ca;
    const held: Wire[] = [];
    for (let i = 0; i < places; i++) {
      const wire = new Wire(await dialMtls(port, greedy, { trusted }));
      // It has its place once it is answered.
      wire.send('GET http://nowhere.example/ HTTP/1.1\r\nHost: nowhere.example\r\n\r\n');
      expect((await wire.answer()).head).toContain(' 403 ');
      held.push(wire);
    }
    expect(await askPlainly(port, greedy, { trusted })).toContain(' 429 ');
    expect(await askPlainly(port, other, { trusted })).toContain('domain.not-allowed');
    for (const { socket } of held) socket.destroy();
  });
});
