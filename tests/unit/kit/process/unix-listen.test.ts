import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listenOnUnixSocket } from '../../../../src/kit/process/unix-listen.ts';

let base: string;
let path: string;
const servers: Server[] = [];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'sallyport-socket-'));
  path = join(base, 'door.sock');
});

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  rmSync(base, { recursive: true, force: true });
});

async function listen(options = {}): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined).end('hello'));
  servers.push(server);
  await listenOnUnixSocket(server, path, options);
  return server;
}

/** What a gateway that was killed leaves behind. */
function leaveStaleSocket(): void {
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
}

function greet(): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = '';
    connect(path)
      .on('data', (chunk) => {
        heard += chunk;
      })
      .on('end', () => resolve(heard))
      .on('error', reject);
  });
}

describe('listening on a Unix socket', () => {
  test('opens it for the owner alone and restores the umask', async () => {
    const before = process.umask();
    await listen();
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(before);
    expect(await greet()).toBe('hello');
  });

  test('never lets it be open to others, not even for the moment before its mode could be set', async () => {
    let modeAtBirth = -1;
    class Watched extends Server {
      override listen(...given: unknown[]): this {
        Reflect.apply(super.listen, this, given);
        modeAtBirth = lstatSync(path).mode & 0o777;
        return this;
      }
    }
    const server = new Watched();
    servers.push(server);
    const before = process.umask(0);
    await listenOnUnixSocket(server, path).finally(() => process.umask(before));
    expect(modeAtBirth).toBe(0o600);
  });

  test('clears away a socket that a killed process left, and leaves nothing beside it', async () => {
    leaveStaleSocket();
    expect(lstatSync(path).isSocket()).toBe(true);
    await listen();
    expect(await greet()).toBe('hello');
    expect(readdirSync(base)).toEqual(['door.sock']);
  });

  test('leaves a living socket alone and says who has it', async () => {
    await listen();
    await expect(listen({ occupant: 'another door' })).rejects.toThrow(/another door is already running.*door\.sock/s);
    expect(await greet()).toBe('hello');
  });

  test('of many starts over one stale socket exactly one wins, and it can be reached', async () => {
    leaveStaleSocket();
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => listen()));
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    expect(await greet()).toBe('hello');
  });

  test('never removes what is not a socket', async () => {
    writeFileSync(path, 'precious');
    await expect(listen()).rejects.toThrow('is not a socket');
    expect(existsSync(path)).toBe(true);
  });

  test('refuses a path that the kernel would cut off', async () => {
    path = join(base, 'x'.repeat(108));
    await expect(listen()).rejects.toThrow(/allows 107.*SALLYPORT_HOME/s);
    expect(readdirSync(base)).toEqual([]);
  });
});
