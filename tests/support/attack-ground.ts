// Where the attacks take place: a whole gateway with one registered sandbox, and behind it a recording far side that
// answers for `api.example` (a credential belongs there) and `open.example` (none does).
import { type RecordingUpstream, type ScriptedAnswer, startRecordingUpstream } from './recording-upstream.ts';
import { makeTestCa, type TestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

/** The value that must be seen on the far side of `api.example` and nowhere else. */
export const plantedKey = 'planted-key-7f3a9c51d2';

export interface AttackGround {
  readonly gateway: TestGateway;
  readonly upstream: RecordingUpstream;
  readonly ca: TestCa;
  /** A request that passes, and ends its connection. */
  readonly goodRequest: string;
  /** Registers one more sandbox, with a private socket for its door. */
  anotherSandbox(registration?: Record<string, unknown>): Promise<{ readonly socketPath: string }>;
  stop(): Promise<void>;
}

export interface GroundOptions {
  readonly allow?: readonly Record<string, unknown>[];
  readonly limits?: Record<string, number>;
  readonly policy?: Record<string, unknown>;
  /** Beside that of `api.example`. */
  readonly credentials?: Record<string, unknown>;
  readonly answer?: ScriptedAnswer;
  /** Names the far side answers for beside the two. */
  readonly names?: readonly string[];
}

export async function openAttackGround(options: GroundOptions = {}): Promise<AttackGround> {
  const ca = makeTestCa();
  const names = ['api.example', 'open.example', ...(options.names ?? [])];
  const upstream = await startRecordingUpstream(ca.issue(names), options.answer);
  const gateway = await startTestGateway({
    allow: options.allow ?? [{ host: 'api.example' }, { host: 'open.example' }],
    credentials: { key: { hosts: ['api.example'], inject: { header: 'x-api-key' } }, ...options.credentials },
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    upstream: { resolve: Object.fromEntries(names.map((name) => [name, upstream.address])), ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', plantedKey);
  return {
    gateway,
    upstream,
    ca,
    goodRequest: 'GET /fine HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n',
    async anotherSandbox(registration = {}) {
      const registered = await gateway.register({ proof: ['socket'], ...registration });
      return { socketPath: socketOf(registered) };
    },
    async stop() {
      await gateway.stop();
      await upstream.close();
    },
  };
}

function socketOf(registered: Record<string, unknown>): string {
  const grant = registered.grant as { readonly socket?: string } | undefined;
  if (grant?.socket === undefined) throw new Error(`no private socket in ${JSON.stringify(Object.keys(registered))}`);
  return grant.socket;
}
