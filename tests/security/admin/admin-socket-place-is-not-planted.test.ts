// Whoever controls the place of the admin socket can pose as the gateway or reach its API. A link, a shared directory or
// a foreign socket must stop the start, and must stop the client before a secret is sent.
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AdminClient } from '../../../src/gateway/admin/admin-client.ts';
import { startAdminServer } from '../../../src/gateway/admin/admin-server.ts';
import { placesIn } from '../../../src/kit/files/home.ts';
import { checkPrivateDirectory } from '../../../src/kit/files/secure-directory.ts';
import { fakePorts } from '../../unit/gateway/admin/fake-ports.ts';

const nobody = 65534;
const isRoot = process.geteuid?.() === 0;

let home: string;
let socketPath: string;
let runDirectory: string;
let heard: string;
let impostor: Server | null;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-planted-'));
  ({ adminSocket: socketPath, runDirectory } = placesIn(home));
  heard = '';
  impostor = null;
});

afterEach(async () => {
  if (impostor !== null) await new Promise((resolve) => impostor?.close(resolve));
  rmSync(home, { recursive: true, force: true });
});

const start = () => startAdminServer({ socketPath, ports: fakePorts(), onFault: () => undefined });
const sendSecret = () => new AdminClient(socketPath).putRaw('/internal/credentials/anthropic', 'sk-real');

/** Somebody else's server on our path: it writes down whatever is sent to it. */
async function listenAsImpostor(path: string): Promise<void> {
  impostor = createServer((socket) => {
    socket.on('data', (chunk) => {
      heard += chunk;
      socket.end('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => impostor?.listen(path, resolve));
}

describe('a planted run directory', () => {
  test('a symbolic link is refused by the gateway and by the client', async () => {
    const elsewhere = join(home, 'elsewhere');
    mkdirSync(elsewhere, { mode: 0o700 });
    symlinkSync(elsewhere, runDirectory);
    await expect(start()).rejects.toThrow('is a symbolic link');
    expect(readdirSync(elsewhere)).toEqual([]);
    await listenAsImpostor(join(elsewhere, 'admin.sock'));
    await expect(sendSecret()).rejects.toThrow('is a symbolic link');
    expect(heard).toBe('');
  });

  test('one that others may write to or look into is refused by both, with the command that closes it', async () => {
    for (const mode of [0o770, 0o777, 0o750, 0o711]) {
      rmSync(runDirectory, { recursive: true, force: true });
      mkdirSync(runDirectory);
      chmodSync(runDirectory, mode);
      await expect(start()).rejects.toThrow(`chmod 700 ${runDirectory}`);
      await listenAsImpostor(socketPath);
      await expect(sendSecret()).rejects.toThrow(`chmod 700 ${runDirectory}`);
      await new Promise((resolve) => impostor?.close(resolve));
      impostor = null;
    }
    expect(heard).toBe('');
  });

  test('a home that others may write to is refused: they could swap the directory in it', async () => {
    mkdirSync(runDirectory, { mode: 0o700 });
    chmodSync(home, 0o777);
    await expect(start()).rejects.toThrow(`chmod go-w ${home}`);
    await listenAsImpostor(socketPath);
    await expect(sendSecret()).rejects.toThrow(`chmod go-w ${home}`);
    expect(heard).toBe('');
  });

  test('one of another user is refused', async () => {
    mkdirSync(runDirectory, { mode: 0o700 });
    if (isRoot) {
      chownSync(runDirectory, nobody, nobody);
      await expect(start()).rejects.toThrow(`belongs to user ${nobody}`);
    } else {
      expect(() => checkPrivateDirectory(runDirectory, nobody)).toThrow(`not to user ${nobody}`);
    }
  });
});

describe('a planted socket', () => {
  test('a symbolic link to another socket is neither followed nor removed', async () => {
    mkdirSync(runDirectory, { mode: 0o700 });
    await listenAsImpostor(join(home, 'other.sock'));
    symlinkSync(join(home, 'other.sock'), socketPath);
    await expect(start()).rejects.toThrow('is not a socket');
    await expect(sendSecret()).rejects.toThrow('is not a socket');
    expect(lstatSync(socketPath).isSymbolicLink()).toBe(true);
    expect(heard).toBe('');
  });

  test('a socket of another user is neither used nor removed', async () => {
    mkdirSync(runDirectory, { mode: 0o700 });
    await listenAsImpostor(socketPath);
    if (isRoot) {
      chownSync(socketPath, nobody, nobody);
      await expect(start()).rejects.toThrow(`socket of user ${nobody}, not ours`);
      await expect(sendSecret()).rejects.toThrow(`belongs to user ${nobody}`);
    } else {
      // An ordinary user cannot make a foreign socket; a living one of their own must at least be left alone.
      await expect(start()).rejects.toThrow('already running');
    }
    expect(lstatSync(socketPath).isSocket()).toBe(true);
    expect(heard).toBe('');
  });
});
