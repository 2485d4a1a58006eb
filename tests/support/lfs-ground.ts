// Where LFS is tried: a whole gateway, a sandbox registered for `acme/*`, a git server with LFS behind it, and a storage
// that no rule allows. Raw requests of git-lfs for what no honest client sends.
import { createHash, randomBytes } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import { eventually } from './eventually.ts';
import { type LfsUpstream, startLfsUpstream, storageHost } from './lfs-upstream.ts';
import { makeTestCa, type TestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';
import { type Door, TunnelAgent } from './tunnel-client.ts';

export const lfsToken = 'ghp_lfs0123456789abcdefghijklmnopqrstuvw';
/** A git host beside github.com. */
export const otherGitHost = 'git.example.com';
export const lfsType = 'application/vnd.git-lfs+json';

export interface LfsGround {
  readonly gateway: TestGateway;
  readonly upstream: LfsUpstream;
  /** The id of the sandbox that calls from 127.0.0.1. */
  readonly sandboxId: string;
  /** Another sandbox with the same rights, through its own socket. */
  anotherSandbox(registration?: Record<string, unknown>): Promise<Door>;
  lastRecord(ending: string): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

export interface LfsGroundOptions {
  /** More places on the far side, by name: where each is to be found. */
  readonly places?: (ca: TestCa) => Promise<Record<string, string>>;
  readonly registration?: Record<string, unknown>;
  readonly config?: Record<string, unknown>;
}

export async function openLfsGround(options: LfsGroundOptions = {}): Promise<LfsGround> {
  const ca = makeTestCa();
  const upstream = await startLfsUpstream(ca, ['github.com', otherGitHost], `x-access-token:${lfsToken}`);
  const gateway = await startTestGateway({
    allow: [{ preset: 'github' }, { host: otherGitHost }],
    git: { hosts: [otherGitHost] },
    credentials: {
      other: {
        hosts: [otherGitHost],
        inject: { basic: { username: 'x-access-token' } },
      },
    },
    upstream: {
      resolve: {
        'github.com': upstream.address,
        [otherGitHost]: upstream.address,
        [storageHost]: upstream.storageAddress,
        ...(await options.places?.(ca)),
      },
      ca: ca.path,
    },
    ...options.config,
  });
  const rights = { repos: ['acme/*'], auth_mode: 'user', ...options.registration };
  const { id } = await gateway.register({ container_ip: '127.0.0.1', ...rights });
  for (const name of ['github', 'other']) await gateway.setSecret(name, lfsToken);
  return {
    gateway,
    upstream,
    sandboxId: id,
    async anotherSandbox(registration = {}) {
      const { grant } = await gateway.register({ proof: ['socket'], ...rights, ...registration });
      return { socketPath: (grant as { socket: string }).socket };
    },
    lastRecord: (ending) =>
      eventually(
        async () => (await gateway.journal()).filter(({ path }) => String(path).endsWith(ending)).at(-1),
        `a record of ${ending} in the journal`,
      ),
    async stop() {
      await gateway.stop();
      await upstream.close();
    },
  };
}

export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** Everything that came, as one text: interim answers, head and body. */
  readonly text: string;
  /** Code of a refusal of the gateway; null: it was not refused. */
  readonly code: string | null;
}

export interface RawAsk {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly door?: Door;
}

/** One request through the door, with TLS that trusts the gateway. */
export function ask(
  { gateway }: LfsGround,
  url: string,
  { method = 'GET', headers, body, door }: RawAsk = {},
): Promise<RawReply> {
  const agent = new TunnelAgent(door ?? gateway, gateway.caPath);
  let informed = '';
  return new Promise<RawReply>((resolve, reject) => {
    const request = httpsRequest(url, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0, headers: given } = response;
        const all = Buffer.concat(chunks);
        const code = given['x-sallyport-refused'];
        resolve({
          status: statusCode,
          headers: given,
          body: all,
          text: `${informed}${JSON.stringify(given)}\n${all.toString('latin1')}`,
          code: code === undefined ? null : String(code),
        });
      });
    });
    request.on('information', (interim) => {
      informed += `${JSON.stringify(interim)}\n`;
    });
    request.on('error', reject);
    request.end(body);
  }).finally(() => agent.destroy());
}

export interface LfsObject {
  readonly oid: string;
  readonly size: number;
  readonly content: Buffer;
}

export function freshObject(bytes = 1000): LfsObject {
  const content = randomBytes(bytes);
  return { oid: createHash('sha256').update(content).digest('hex'), size: bytes, content };
}

export const repositoryUrl = 'https://github.com/acme/art.git';

/** A batch request as git-lfs sends it; `over` replaces fields of the body. */
export function askBatch(
  ground: LfsGround,
  operation: 'download' | 'upload',
  objects: readonly { readonly oid: string; readonly size: number }[],
  over: Record<string, unknown> = {},
  rest: RawAsk & { readonly repository?: string } = {},
): Promise<RawReply> {
  const asked = objects.map(({ oid, size }) => ({ oid, size }));
  return ask(ground, `${rest.repository ?? repositoryUrl}/info/lfs/objects/batch`, {
    method: 'POST',
    body: JSON.stringify({ operation, transfers: ['basic', 'ssh'], objects: asked, hash_algo: 'sha256', ...over }),
    ...rest,
    headers: { accept: lfsType, 'content-type': lfsType, ...rest.headers },
  });
}

export interface DoorAction {
  readonly href: string;
  readonly header?: unknown;
  readonly expires_in?: number;
  readonly expires_at?: string;
}

/** The actions of the first object in the answer to a batch. */
export function actionsOf(reply: RawReply): Record<string, DoorAction> {
  const { objects } = JSON.parse(reply.body.toString()) as { objects: { actions?: Record<string, DoorAction> }[] };
  return objects[0]?.actions ?? {};
}

/** A fresh object that the storage has, and the address under which the door gives it out. */
export async function storedObject(ground: LfsGround, bytes = 1000): Promise<LfsObject & { readonly href: string }> {
  const object = freshObject(bytes);
  ground.upstream.objects.set(object.oid, object.content);
  const reply = await askBatch(ground, 'download', [object]);
  return { ...object, href: actionsOf(reply).download!.href };
}
