// A git server on the far side: the real `git http-backend` behind TLS, over bare repositories in a folder of its own.
// It wants a login for everything but public repositories, and remembers what came, so that a test can see whether any
// byte of a push got through.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backend, startBackend } from '../../src/prove/internet/git-backend.ts';
import { startStreamingUpstream } from './fake-upstream.ts';
import { GitFolder, quietGit } from './git-folder.ts';
import type { TestCa } from './test-ca.ts';

export interface SeenGitRequest {
  readonly method: string;
  readonly host: string;
  readonly url: string;
  readonly httpVersion: string;
  readonly protocol: string | null;
  readonly contentEncoding: string | null;
  /** Whether it came with the right login; null: with none. */
  readonly login: boolean | null;
  /** What came of the body so far. */
  readonly bodyBytes: number;
  /** The empty request that git sends before a large push. */
  readonly isProbe: boolean;
}

export interface RepositoryOptions {
  /** `uploadpack.allowFilter` and friends; default true, as on GitHub. */
  readonly filters?: boolean;
  /** Anybody may fetch. */
  readonly isPublic?: boolean;
  readonly objectFormat?: 'sha1' | 'sha256';
  readonly config?: Readonly<Record<string, string>>;
}

export interface GitUpstream {
  /** For `upstream.resolve`. */
  readonly address: string;
  readonly requests: readonly SeenGitRequest[];
  /** What came for receive-pack, probes left out: a refused push must not be among it. */
  readonly pushes: readonly SeenGitRequest[];
  /** A new bare repository; `owner/name` in lower case. */
  create(name: string, options?: RepositoryOptions): Promise<GitFolder>;
  forget(): void;
  close(): Promise<void>;
}

type Noted = { -readonly [Key in keyof SeenGitRequest]: SeenGitRequest[Key] };

const serverGit = { ...quietGit, GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' };

/** `logins`: `user:password` by host name. */
export async function startGitUpstream(ca: TestCa, logins: Readonly<Record<string, string>>): Promise<GitUpstream> {
  const root = mkdtempSync(join(tmpdir(), 'git-upstream-'));
  const isPublic = new Set<string>();
  const backends = new Set<Backend>();
  let requests: Noted[] = [];

  const serve = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    const noted = note(request, logins);
    requests.push(noted);
    const [, owner = '', name = '', ...rest] = request.url.split('?')[0]!.toLowerCase().split('/');
    const repository = `${owner}/${name.replace(/\.git$/, '')}`;
    const isOpen = noted.login === null && isPublic.has(repository) && !request.url.includes('receive-pack');
    if (noted.login !== true && !isOpen) {
      askForLogin(request, response);
      return;
    }
    request.on('data', (chunk: Buffer) => {
      noted.bodyBytes += chunk.length;
      noted.isProbe = noted.bodyBytes === 4 && chunk.toString('latin1') === '0000';
    });
    const backend = startBackend(request, response, {
      root,
      path: `/${repository}.git/${rest.join('/')}`,
      env: serverGit,
    });
    backends.add(backend);
    void backend.ended.then(() => backends.delete(backend));
  };

  const server = await startStreamingUpstream(ca, Object.keys(logins), serve);
  return {
    address: server.address,
    get requests() {
      return requests;
    },
    get pushes() {
      return requests.filter(({ url, isProbe }) => url.endsWith('/git-receive-pack') && !isProbe);
    },
    async create(name, options = {}) {
      const folder = join(root, `${name}.git`);
      mkdirSync(folder, { recursive: true });
      const bare = new GitFolder(folder, serverGit);
      const format = `--object-format=${options.objectFormat ?? 'sha1'}`;
      await bare.git('init', '--quiet', '--bare', '--initial-branch=main', format, '.');
      const filters = String(options.filters ?? true);
      const settings = {
        'http.receivepack': 'true',
        'uploadpack.allowFilter': filters,
        'uploadpack.allowAnySHA1InWant': filters,
        'gc.auto': '0',
        'receive.autogc': 'false',
        ...options.config,
      };
      for (const [key, value] of Object.entries(settings)) await bare.git('config', key, value);
      if (options.isPublic === true) isPublic.add(name);
      return bare;
    },
    forget: () => {
      requests = [];
    },
    async close() {
      await server.close();
      for (const backend of backends) backend.kill();
      await Promise.all([...backends].map(({ ended }) => ended));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function note(request: Http2ServerRequest, logins: Readonly<Record<string, string>>): Noted {
  const { headers } = request;
  const host = String(headers[':authority'] ?? headers.host ?? '').replace(/:\d+$/, '');
  const login = logins[host];
  const expected = login === undefined ? null : `Basic ${Buffer.from(login).toString('base64')}`;
  return {
    method: request.method,
    host,
    url: request.url,
    httpVersion: request.httpVersion,
    protocol: headers['git-protocol'] === undefined ? null : String(headers['git-protocol']),
    contentEncoding: headers['content-encoding'] ?? null,
    login: headers.authorization === undefined ? null : headers.authorization === expected,
    bodyBytes: 0,
    isProbe: false,
  };
}

function askForLogin(request: Http2ServerRequest, response: Http2ServerResponse): void {
  request.resume();
  response.writeHead(401, { 'www-authenticate': 'Basic realm="git"', 'content-type': 'text/plain' });
  response.end('who are you?\n');
}
