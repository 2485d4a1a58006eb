// What the experiments of docs/research/git-proxy-methods.md are made with: listeners that only tell that somebody came,
// a relay that shows what git says to a proxy, and git's https helper on a libcurl with OpenSSL instead of GnuTLS.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { startBackend } from '../../src/prove/internet/git-backend.ts';
import { type FakeUpstream, startStreamingUpstream } from '../support/fake-upstream.ts';
import { GitFolder, quietGit } from '../support/git-folder.ts';
import type { TestCa } from '../support/test-ca.ts';

export interface Listener {
  readonly port: number;
  readonly url: string;
  /** How many have come. */
  readonly count: number;
  close(): void;
}

/** Takes a connection, counts it, and ends it. */
export async function startListener(): Promise<Listener> {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.on('error', () => {});
    socket.end();
  });
  const port = await listen(server);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get count() {
      return count;
    },
    close: () => server.close(),
  };
}

export interface Relay {
  readonly port: number;
  /** The heads of every CONNECT that passed, in order. */
  connects(): string[];
  forget(): void;
  close(): void;
}

/** Between git and the door, to see what is said before the TLS begins. */
export async function startRelay(door: { readonly port: number }): Promise<Relay> {
  let heard: string[] = [];
  const server = createServer((client) => {
    const far = connect(door.port, '127.0.0.1');
    let text = '';
    client.on('data', (chunk: Buffer) => {
      // A head is over when TLS begins; latin1 keeps its bytes from looking like one.
      text += chunk.toString('latin1');
      for (const match of text.matchAll(/CONNECT [^\r]*\r\n(?:[^\r]+\r\n)*\r\n/g)) heard.push(match[0]);
      text = text.includes('\r\n\r\n') ? '' : text;
    });
    client.pipe(far).pipe(client);
    client.on('error', () => far.destroy());
    far.on('error', () => client.destroy());
  });
  const port = await listen(server);
  return {
    port,
    connects: () => heard,
    forget: () => {
      heard = [];
    },
    close: () => server.close(),
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export interface HaltingServer extends Pick<FakeUpstream, 'address' | 'close'> {
  /** How much of the pack has been sent. */
  readonly sent: number;
  readonly isHalted: boolean;
  /** Halts every answer after so many bytes, until `release`. */
  haltAfter(bytes: number): void;
  release(): void;
}

/** Serves one repository of `size` random bytes, and stops in the middle of the pack until it is told to go on. */
export async function startHaltingServer(ca: TestCa, host: string, root: string, size: number): Promise<HaltingServer> {
  const env = { ...quietGit, HOME: root };
  const folder = join(root, 'acme', 'large.git');
  mkdirSync(folder, { recursive: true });
  const bare = new GitFolder(folder, env);
  await bare.git('init', '--quiet', '--bare', '--initial-branch=main', '.');
  // Random bytes have nothing to gain: git is not to search them for it.
  await bare.git('config', 'core.compression', '0');
  await bare.git('config', 'core.bigFileThreshold', '1m');
  const entries: string[] = [];
  for (let made = 0; made < size; made += 1 << 23) {
    const id = (await bare.bytes(['hash-object', '-w', '--stdin'], randomBytes(1 << 23))).toString().trim();
    entries.push(`100644 blob ${id}\tfile-${made}\n`);
  }
  const tree = (await bare.bytes(['mktree'], entries.join(''))).toString().trim();
  await bare.git('update-ref', 'refs/heads/main', await bare.git('commit-tree', '-m', 'large', tree));

  const state = { sent: 0, limit: Number.POSITIVE_INFINITY, goOn: null as (() => void) | null };
  const serve = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    if (request.method === 'GET') {
      startBackend(request, response, { root, path: request.url.split('?')[0]!, env });
      return;
    }
    response.setHeader('content-type', 'application/x-git-upload-pack-result');
    const variables = { PATH: process.env.PATH ?? '', GIT_PROTOCOL: String(request.headers['git-protocol'] ?? '') };
    const child = spawn('git', ['upload-pack', '--stateless-rpc', folder], { env: { ...env, ...variables } });
    child.stdin.on('error', () => {});
    const body = request as unknown as Readable;
    (request.headers['content-encoding'] === 'gzip' ? body.pipe(createGunzip()) : body).pipe(child.stdin);
    void pour(child.stdout, response as unknown as Writable);
  };
  async function pour(from: Readable, to: Writable): Promise<void> {
    state.sent = 0;
    for await (const chunk of from as AsyncIterable<Buffer>) {
      state.sent += chunk.length;
      if (!to.write(chunk)) await new Promise((resolve) => to.once('drain', resolve));
      if (state.sent >= state.limit) {
        state.limit = Number.POSITIVE_INFINITY;
        await new Promise<void>((resolve) => {
          state.goOn = resolve;
        });
        state.goOn = null;
      }
    }
    to.end();
  }
  const server = await startStreamingUpstream(ca, [host], serve);
  return {
    address: server.address,
    close: server.close,
    get sent() {
      return state.sent;
    },
    get isHalted() {
      return state.goOn !== null;
    },
    haltAfter: (bytes) => {
      state.limit = bytes;
    },
    release: () => state.goOn?.(),
  };
}

/** What a client has written of the pack it is receiving. */
export function packBytes(bareRepository: string): number {
  const packs = join(bareRepository, 'objects/pack');
  const names = existsSync(packs) ? readdirSync(packs).filter((name) => name.startsWith('tmp_pack_')) : [];
  return names.reduce((sum, name) => sum + statSync(join(packs, name)).size, 0);
}

/** In bytes: what a process has now, or the most it ever had. */
export function memoryOf(pid: number, what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(status)![1]) * 1024;
}

/**
 * A folder for LD_LIBRARY_PATH in which `libcurl-gnutls.so.4` hands every call on to `libcurl.so.4`. Debian builds git's
 * https helper against the former; the two have the same interface, so that the same helper then runs on OpenSSL.
 */
export function opensslLibcurl(folder: string): string {
  const helper = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-remote-https');
  const symbols = run('nm', ['-D', '--undefined-only', helper], 'binutils');
  const names = [...symbols.matchAll(/ (curl_\w+)@(?:\w+)$/gm)].map((match) => match[1]!);
  if (!symbols.includes('@CURL_GNUTLS_3') || names.length === 0)
    throw new Error(`${helper} is not built against libcurl3-gnutls: this experiment is for Debian's git`);
  mkdirSync(folder);
  // All arguments are integers and pointers, at most six: passed on in registers, as variadic ones are too.
  const source = `
    #include <dlfcn.h>
    #include <stdio.h>
    #include <stdlib.h>
    typedef void *(*function)(void *, void *, void *, void *, void *, void *);
    static function find(const char *name) {
      static void *library;
      if (!library) library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
      function found = library ? (function)dlsym(library, name) : 0;
      if (!found) { fprintf(stderr, "%s\\n", dlerror()); abort(); }
      return found;
    }
    __attribute__((constructor)) static void tell(void) {
      fprintf(stderr, "this is %s\\n", (char *)((void *(*)(void))find("curl_version"))());
    }
    ${names
      .map(
        (name) => `void *${name}(void *a, void *b, void *c, void *d, void *e, void *f) {
          static function real;
          if (!real) real = find("${name}");
          return real(a, b, c, d, e, f);
        }`,
      )
      .join('\n')}`;
  writeFileSync(join(folder, 'shim.c'), source);
  writeFileSync(join(folder, 'shim.map'), 'CURL_GNUTLS_3 { global: curl_*; local: *; };\n');
  const name = 'libcurl-gnutls.so.4';
  const output = ['-o', join(folder, name), `-Wl,-soname,${name}`, `-Wl,--version-script=${join(folder, 'shim.map')}`];
  run('gcc', ['-shared', '-fPIC', '-O1', ...output, join(folder, 'shim.c')], 'gcc libc6-dev');
  return folder;
}

/** What a library says of itself. Asked in Python, which can call it without a compiler. */
export function curlVersion(library: string): string {
  const program = `import ctypes; l = ctypes.CDLL("${library}"); l.curl_version.restype = ctypes.c_char_p; print(l.curl_version().decode())`;
  return run('/usr/bin/python3', ['-c', program], 'python3 libcurl4 libcurl3-gnutls').trim();
}

function run(command: string, args: readonly string[], packages: string): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (cause) {
    throw new Error(`${command} failed; this experiment needs: apt-get install ${packages}`, { cause });
  }
}
