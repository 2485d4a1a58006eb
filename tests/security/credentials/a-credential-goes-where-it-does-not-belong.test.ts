// Must not happen: inject puts a credential into a request that it does not belong to, even if an earlier stage
// were to choose it by mistake. Nothing is forwarded then.
import { describe, expect, test } from 'vitest';
import { authorized, everySpec, type FlowParts, stageWith, wire } from '../../unit/stages/inject/authorized-flow.ts';

const stage = stageWith(everySpec, () => 'real-secret-value');
const chosen = { permission: { credential: 'anthropic' } };

describe('a wrong choice of the credential fails closed', () => {
  test.each<[string, FlowParts]>([
    ['over plain http', { ...chosen, canonical: { scheme: 'http', port: 80 } }],
    ['on a path of its host that it does not cover', { ...chosen, canonical: { path: '/api/telemetry' } }],
    [
      'on a path that only looks covered before it is decoded',
      { ...chosen, canonical: { path: '/api', rawPath: '/v1/x' } },
    ],
    ['on the host of another credential', { ...chosen, canonical: { host: 'api.openai.com' } }],
    ['on a host without any', { ...chosen, canonical: { host: 'evil.example' } }],
    ['for a sandbox that was not registered for it', { ...chosen, credentials: ['openai'] }],
    ['for a sandbox that was registered for none', { ...chosen, credentials: [] }],
  ])('%s', (_, parts) => {
    expect(() => stage.run(authorized(parts))).toThrow();
  });

  test.each<[string, FlowParts]>([
    ['a tunnel by rule', { permission: { credential: 'anthropic', tunnel: true } }],
    ['a tunnel by kind', { ...chosen, canonical: { kind: 'tunnel' } }],
    ['a CONNECT', { ...chosen, canonical: { kind: 'connect' } }],
  ])('%s carries nothing', async (_, parts) => {
    const out = await stage.run(authorized({ ...parts, headers: [['x-api-key', 'placeholder']] }));
    expect(out.injected).toBeNull();
    expect(wire(out)).toBe('');
  });
});
