// The attacker's script outside of any sandbox: it must be whole in itself, do what it is told, and survive what goes wrong.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Attacker } from '../../../../../src/prove/redteam/attacker.ts';
import { insideScript } from '../../../../../src/prove/redteam/inside/inside-script.ts';
import type { Probe } from '../../../../../src/prove/redteam/probe.ts';

let folder: string;
let child: ChildProcessWithoutNullStreams;
let attacker: Attacker;
let server: Server;
let port: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-inside-'));
  writeFileSync(join(folder, 'a.txt'), 'harmless bait0123');
  symlinkSync('a.txt', join(folder, 'link'));
  server = createServer((socket) => {
    socket.once('data', (text) => socket.end(`HTTP/1.1 200 OK\r\n\r\nyou said ${text.toString().split('\r\n')[0]}`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
  child = spawn(process.execPath, ['-e', insideScript()], {
    cwd: folder,
    env: { CANARY: 'seen', PATH: process.env.PATH },
  });
  attacker = new Attacker(child);
  await attacker.ready();
});

afterAll(() => {
  child.kill('SIGKILL');
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const one = async (probe: Probe) => (await attacker.attempt([probe]))[0]!;

describe('the attacker tries what it is told and says what came of it', () => {
  test('files are read, listed, written and removed', async () => {
    const path = join(folder, 'b.txt');
    const observed = await attacker.attempt([
      { do: 'read', path: join(folder, 'link') },
      { do: 'readlink', path: join(folder, 'link') },
      { do: 'write', path, text: 'x' },
      { do: 'list', path: folder },
      { do: 'open', path, flags: 'r+' },
      { do: 'remove', path },
      { do: 'read', path },
    ]);
    expect(observed.map(({ error, text }) => error ?? text)).toEqual([
      'harmless bait0123',
      'a.txt',
      '',
      'a.txt\nb.txt\nlink',
      '',
      '',
      'ENOENT',
    ]);
  });

  test('a search names the file and the words', async () => {
    const { text } = await one({ do: 'search', roots: [folder, '/nonexistent'], pattern: 'bait[0-9]{4}' });
    expect(text).toBe(`${join(folder, 'a.txt')}: bait0123\nlooked at 1 files\n`);
  });

  test('environments of processes are read', async () => {
    expect((await one({ do: 'environments' })).text).toContain(`${child.pid} CANARY=seen\n`);
  });

  test('programs are run, with what they print and end with', async () => {
    const run = await one({ do: 'run', argv: ['sh', '-c', 'cat; echo oops >&2; exit 3'], input: 'in' });
    expect(run).toEqual({ ok: false, error: 'exit 3', text: 'inoops\n', exit: 3 });
    expect((await one({ do: 'run', argv: ['no-such-program'] })).error).toBe('ENOENT');
  });

  test('bytes are sent and the answer comes back', async () => {
    const way = { host: '127.0.0.1', port };
    expect((await one({ do: 'send', way, text: 'GET / HTTP/1.1\r\n\r\n' })).text).toContain('you said GET / HTTP/1.1');
  });

  test('sockets say what the kernel says', async () => {
    server.unref();
    const observed = await attacker.attempt([
      { do: 'connect', host: '127.0.0.1', port },
      { do: 'listen', host: '127.0.0.1', port },
      { do: 'listen-unix', path: join(folder, 'own.sock') },
      { do: 'unix', path: join(folder, 'none.sock') },
      { do: 'signal', pid: child.pid!, signal: 0 },
    ]);
    expect(observed.map(({ error }) => error)).toEqual([null, 'EADDRINUSE', null, 'ENOENT', null]);
  });
});

test('an attacker that has ended is told from one that was stopped', async () => {
  const dying = spawn(process.execPath, ['-e', 'console.error("out of breath")'], { env: {} });
  const gone = new Attacker(dying);
  await expect(gone.ready()).rejects.toThrow(/has ended: out of breath/);
  await expect(gone.attempt([{ do: 'environments' }])).rejects.toThrow(/has ended/);
});
