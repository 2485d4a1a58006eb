// A gateway before hosts that need no credential, with one sandbox let in by its address: for the stories that are
// about bytes and connections.
import type { TestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export async function startFarGateway(
  ca: TestCa,
  hosts: Readonly<Record<string, { readonly address: string }>>,
  more: Record<string, unknown> = {},
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    allow: Object.keys(hosts).map((host) => ({ host })),
    upstream: {
      resolve: Object.fromEntries(Object.entries(hosts).map(([host, { address }]) => [host, address])),
      ca: ca.path,
    },
    ...more,
  });
  await gateway.register();
  return gateway;
}
