// A git server with LFS on the far side, and its storage under another name: real TLS servers on loopback. The LFS server
// wants the gateway's login, the storage a signature in the address and a field of its own; both remember what came.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBackend } from '../../src/prove/internet/git-backend.ts';
import { startStreamingUpstream } from './fake-upstream.ts';
import { GitFolder, quietGit } from './git-folder.ts';
import { type LfsRequest, LfsServer } from './lfs-server.ts';
import type { TestCa } from './test-ca.ts';

export const storageHost = 'objects.storage.example';
export const storageKey = 'storage-key-5be1f0c29a';
export const storageSignature = 'signature-0d6a77c3e8f1';

export interface SeenAtStorage {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What came of the body so far. */
  bytes: number;
}

type Serve = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export interface LfsUpstream {
  /** For `upstream.resolve`: of the git hosts, and of the storage. */
  readonly address: string;
  readonly storageAddress: string;
  readonly lfs: LfsServer;
  /** What the LFS server was asked. */
  readonly asked: readonly LfsRequest[];
  readonly stored: readonly SeenAtStorage[];
  readonly objects: Map<string, Buffer>;
  /** Set by a test: what the storage does instead of its work. */
  storageScript: Serve | null;
  create(name: string): Promise<GitFolder>;
  forget(): void;
  close(): Promise<void>;
}

const serverGit = { ...quietGit, GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' };

export async function startLfsUpstream(ca: TestCa, hosts: readonly string[], login: string): Promise<LfsUpstream> {
  const root = mkdtempSync(join(tmpdir(), 'lfs-upstream-'));
  const objects = new Map<string, Buffer>();
  const expected = `Basic ${Buffer.from(login).toString('base64')}`;
  const lfs = new LfsServer(objects, (oid, what) => ({
    href: `https://${storageHost}/bucket/${what}/${oid}?X-Signature=${storageSignature}`,
    header: { Authorization: `Bearer ${storageKey}`, 'X-Storage-Tenant': 'acme' },
    expires_in: 600,
  }));
  const asked: LfsRequest[] = [];
  const stored: SeenAtStorage[] = [];

  const git = await startStreamingUpstream(ca, hosts, (request, response) => {
    const path = request.url.split('?')[0]!;
    if (request.headers.authorization !== expected) {
      request.resume();
      response.writeHead(401, { 'content-type': 'text/plain' }).end('who are you?\n');
    } else if (path.includes('/info/lfs/')) {
      void readAll(request).then((body) => {
        const seen = {
          method: request.method,
          url: request.url,
          headers: { ...request.headers },
          body: body.toString(),
        };
        asked.push(seen);
        const { status, headers, text } = lfs.answer(seen);
        response.writeHead(status, headers).end(text);
      });
    } else {
      startBackend(request, response, { root, path, env: serverGit });
    }
  });

  const upstream: LfsUpstream = {
    address: git.address,
    storageAddress: '',
    lfs,
    asked,
    stored,
    objects,
    storageScript: null,
    async create(name) {
      const folder = join(root, `${name}.git`);
      mkdirSync(folder, { recursive: true });
      const bare = new GitFolder(folder, serverGit);
      await bare.git('init', '--quiet', '--bare', '--initial-branch=main', '.');
      const settings = { 'http.receivepack': 'true', 'uploadpack.allowFilter': 'true', 'gc.auto': '0' };
      for (const [key, value] of Object.entries(settings)) await bare.git('config', key, value);
      return bare;
    },
    forget() {
      asked.length = 0;
      stored.length = 0;
    },
    async close() {
      await Promise.all([git.close(), storage.close()]);
      rmSync(root, { recursive: true, force: true });
    },
  };
  const storage = await startStreamingUpstream(ca, [storageHost], (request, response) => {
    const seen: SeenAtStorage = { method: request.method, url: request.url, headers: { ...request.headers }, bytes: 0 };
    stored.push(seen);
    request.on('data', (chunk: Buffer) => {
      seen.bytes += chunk.length;
    });
    (upstream.storageScript ?? ((...both) => serveObject(objects, ...both)))(request, response);
  });
  return Object.assign(upstream, { storageAddress: storage.address });
}

/** Keeps and gives objects to whoever shows both the signature and the key. */
function serveObject(objects: Map<string, Buffer>, request: Http2ServerRequest, response: Http2ServerResponse): void {
  const { method, url, headers } = request;
  const oid = /\/([0-9a-f]{64})\?/.exec(url)?.[1] ?? '';
  const mayPass = headers.authorization === `Bearer ${storageKey}` && url.endsWith(`X-Signature=${storageSignature}`);
  if (!mayPass) {
    request.resume();
    // As S3 does: the error quotes what it computed.
    response.writeHead(403, { 'content-type': 'application/xml' });
    response.end(`<Error><StringToSign>${method} ${storageHost}${url}</StringToSign></Error>`);
    return;
  }
  if (method === 'GET') {
    giveObject(objects.get(oid), headers.range, response);
    return;
  }
  void readAll(request).then((body) => {
    if (method === 'PUT') objects.set(oid, body);
    response.writeHead(200, { location: `https://${storageHost}${url}`, 'x-served-by': storageHost });
    response.end(`kept at ${storageHost}`);
  });
}

function giveObject(object: Buffer | undefined, range: string | undefined, response: Http2ServerResponse): void {
  if (object === undefined) {
    response.writeHead(404, { 'content-type': 'application/xml' }).end(`<Error>${storageHost}</Error>`);
    return;
  }
  const from = Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
  const part = object.subarray(from);
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(part.length) };
  if (range === undefined) response.writeHead(200, headers);
  else {
    const whole = `bytes ${from}-${object.length - 1}/${object.length}`;
    response.writeHead(206, { ...headers, 'content-range': whole });
  }
  response.end(part);
}

function readAll(request: Http2ServerRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
