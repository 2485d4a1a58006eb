// A GitHub on loopback that knows one App: it checks every proof with the App's public key, hands out tokens and takes
// them back, and serves repositories to those who show a token for them. In front of it a gateway with the App's key.
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importSPKI, jwtVerify } from 'jose';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { TunnelAgent } from '../support/tunnel-client.ts';

export interface MintedToken {
  readonly token: string;
  readonly repositories: readonly string[] | null;
  readonly permissions: Record<string, string>;
  revoked: boolean;
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

export interface Client {
  readonly id: string;
  fetchRefs(repository: string): Promise<Reply>;
  get(host: string, path: string): Promise<Reply>;
}

export interface AppGround {
  readonly gateway: TestGateway;
  /** Of the gateway, without `credentials`. */
  readonly config: Record<string, unknown>;
  readonly upstream: FakeUpstream;
  readonly keyFile: string;
  readonly keyText: string;
  readonly minted: MintedToken[];
  /** How long tokens live, and what mints are answered with in place of a token. */
  readonly github: { lifeMs: number; mintStatus: number; delayMs: number };
  /** `METHOD path` of every call of the App that had a good proof. */
  readonly appCalls: string[];
  sandbox(repos: readonly string[]): Promise<Client>;
  stop(): Promise<void>;
}

const hosts = ['github.com', 'api.github.com'];

/** `keyText`: what stands in the file of the key in place of the App's own. */
export async function openAppGround(keyText?: string): Promise<AppGround> {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-app-'));
  const keyFile = join(directory, 'app.pem');
  writeFileSync(keyFile, keyText ?? keys.privateKey, { mode: 0o600 });
  const publicKey = await importSPKI(keys.publicKey, 'RS256');
  const minted: MintedToken[] = [];
  const appCalls: string[] = [];
  const github = { lifeMs: 60 * 60_000, mintStatus: 201, delayMs: 0 };

  async function answer(method: string, url: string, authorization: string, body: string): Promise<[number, unknown]> {
    const shown = minted.find(({ token, revoked }) => !revoked && authorization === `Bearer ${token}`);
    if (method === 'DELETE' && url === '/installation/token') {
      if (shown === undefined) return [401, { message: 'Bad credentials' }];
      shown.revoked = true;
      return [204, null];
    }
    try {
      await jwtVerify(authorization.replace('Bearer ', ''), publicKey, { issuer: '12345', algorithms: ['RS256'] });
    } catch {
      return [401, { message: 'A JSON web token could not be decoded' }];
    }
    appCalls.push(`${method} ${url}`);
    const repository = /^\/repos\/([^/]+)\/[^/]+\/installation$/.exec(url);
    if (method === 'GET' && repository !== null) return [200, { id: 678, account: { login: repository[1] } }];
    if (method !== 'POST' || url !== '/app/installations/678/access_tokens') return [404, { message: 'Not Found' }];
    await new Promise((resolve) => setTimeout(resolve, github.delayMs));
    if (github.mintStatus !== 201) return [github.mintStatus, { message: `refused ${authorization}` }];
    const requested = JSON.parse(body) as { repositories?: string[]; permissions: Record<string, string> };
    const token = `ghs_minted${minted.length + 1}AbCdEfGhIjKlMnOp`;
    const repositories = requested.repositories?.map((name) => `acme/${name}`) ?? null;
    minted.push({ token, repositories, permissions: requested.permissions, revoked: false });
    const expires_at = new Date(Date.now() + github.lifeMs).toISOString();
    const listed = repositories?.map((full_name) => ({ full_name }));
    return [201, { token, expires_at, permissions: requested.permissions, repositories: listed }];
  }

  /** git over http, for those who show a token for the repository. */
  function serveGit(url: string, authorization: string): [number, string] {
    const [, user] = /^Basic (.+)$/.exec(authorization) ?? [];
    const password = Buffer.from(user ?? '', 'base64')
      .toString()
      .replace('x-access-token:', '');
    const path = url.split('/').slice(1, 3).join('/');
    const found = minted.find(({ token, revoked }) => !revoked && token === password);
    if (found === undefined) return [401, 'who are you'];
    return found.repositories?.includes(path) ? [200, '001e# service=git-upload-pack\n0000'] : [404, 'not found'];
  }

  const ca = makeTestCa();
  const upstream = await startFakeUpstream(ca, hosts, (asked, response, body) => {
    const authorization = asked.headers.authorization ?? '';
    if ((asked.headers.host ?? asked.authority) === 'github.com') {
      const [status, text] = serveGit(asked.url, authorization);
      response.writeHead(status, { 'content-type': 'application/x-git-upload-pack-advertisement' });
      response.end(text);
      return;
    }
    void answer(asked.method, asked.url, authorization, body.toString()).then(([status, json]) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(json === null ? '' : JSON.stringify(json));
    });
  });
  const config = {
    allow: [{ preset: 'github' }],
    upstream: { resolve: Object.fromEntries(hosts.map((host) => [host, upstream.address])), ca: ca.path },
  };
  const gateway = await startTestGateway({
    ...config,
    credentials: { github: { app: { id: 12345, private_key: { file: keyFile } } } },
  });

  return {
    gateway,
    config,
    upstream,
    keyFile,
    keyText: keys.privateKey,
    minted,
    github,
    appCalls,
    async sandbox(repos) {
      const registered = await gateway.register({ proof: ['socket'], repos });
      const { socket } = registered.grant as { socket: string };
      const get = (host: string, path: string): Promise<Reply> => getThrough(socket, gateway.caPath, host, path);
      return {
        id: registered.id,
        get,
        fetchRefs: (repository) => get('github.com', `/${repository}/info/refs?service=git-upload-pack`),
      };
    },
    async stop() {
      await gateway.stop();
      await upstream.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function getThrough(socketPath: string, caPath: string, host: string, path: string): Promise<Reply> {
  const agent = new TunnelAgent({ socketPath }, caPath);
  return new Promise<Reply>((resolve, reject) => {
    const asked = request({ host, path, agent, headers: { authorization: 'token placeholder' } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    asked.on('error', reject);
    asked.end();
  }).finally(() => agent.destroy());
}
