// A gateway with the three model providers behind it, their keys set and one sandbox let in by its address.
import type { FakeUpstream } from './fake-upstream.ts';
import { providers } from './providers.ts';
import type { TestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export const providerHosts = providers.map((provider) => provider.host);

export async function startProviderGateway(ca: TestCa, upstream: Pick<FakeUpstream, 'address'>): Promise<TestGateway> {
  const gateway = await startTestGateway({
    allow: providers.map(({ preset }) => ({ preset })),
    upstream: { resolve: Object.fromEntries(providerHosts.map((host) => [host, upstream.address])), ca: ca.path },
  });
  await gateway.register();
  for (const { preset, realKey } of providers) await gateway.setSecret(preset, realKey);
  return gateway;
}
