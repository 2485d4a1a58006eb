// A gateway beside which one sandbox learns and another does not, and a far side on loopback under names that the policy knows
// or does not. Both sandboxes are told apart by the address they call from.
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import { makeFarNames } from './far-names.ts';
import { runClient } from './run-client.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export const learner = '127.0.0.1';
export const neighbour = '127.0.0.2';

export interface LearningGround {
  readonly gateway: TestGateway;
  readonly upstream: FakeUpstream;
  /** What curl got: the status, and the code of a refusal or an empty text. */
  get(from: string, url: string, options?: readonly string[]): Promise<readonly [status: string, code: string]>;
  /** Registers `id` anew at the address of the learner. */
  registerLearner(id: string): Promise<void>;
  startLearning(id: string): Promise<number>;
  close(): Promise<void>;
}

/** `hosts`: names of the far side, public to the gateway. `config`: the policy beside that. `pinned`: led there by the operator. */
export async function makeLearningGround(
  hosts: readonly string[],
  config: Readonly<Record<string, unknown>> = {},
  pinned: readonly string[] = [],
): Promise<LearningGround> {
  const ca = makeTestCa();
  const upstream = await startFakeUpstream(ca, [...hosts, ...pinned], (_request, response) => response.end('read'));
  const farNames = makeFarNames(hosts, upstream.address);
  farNames.applyHere();
  const resolve = Object.fromEntries(pinned.map((host) => [host, upstream.address]));
  const gateway = await startTestGateway({
    allow: [{ host: 'known.example' }],
    upstream: { ca: ca.path, resolve },
    ...config,
  });
  const startLearning = async (id: string): Promise<number> =>
    (await gateway.admin('POST', '/internal/learning', { sandbox: id })).status;
  await gateway.register({ id: 'learner', container_ip: learner });
  await gateway.register({ id: 'neighbour', container_ip: neighbour });
  return {
    gateway,
    upstream,
    async get(from, url, options = []) {
      const { stdout } = await runClient('curl', [
        ...['-sS', '--max-time', '40', '--interface', from, '-x', gateway.proxyUrl, '--cacert', gateway.caPath],
        ...['-w', '\n%{http_code}', ...options, url],
      ]);
      const [, body = '', status = ''] = /^([\s\S]*)\n(\d+)$/.exec(stdout) ?? [];
      return [status, /"code":"([^"]+)"/.exec(body)?.[1] ?? ''];
    },
    async registerLearner(id) {
      await gateway.register({ id, container_ip: learner });
    },
    startLearning,
    async close() {
      await gateway.stop();
      await upstream.close();
      farNames.remove();
    },
  };
}
