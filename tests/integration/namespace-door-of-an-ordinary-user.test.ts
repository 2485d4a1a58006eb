// The door opened by somebody who is not root: in a namespace of their own, and never in one of somebody else.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { layKoffiBeside } from '../support/koffi-beside.ts';
import { asUser, makeNamespace } from '../support/namespace.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

const uid = 54321;
let folder: string;
let script: string;

/** Opens a door for the process that is named, serves one connection, and says what came of it. */
const opener = `
  import { openNamespaceDoor, closeNamespaceHandles } from './src/sandbox/namespace/open-namespace-door.ts';
  try {
    const handles = await openNamespaceDoor({ pid: Number(process.argv[2]), ports: [443] });
    console.log('open');
    handles.tcp.get(443).on('connection', (socket) => { socket.end('served'); closeNamespaceHandles(handles); });
  } catch (error) {
    console.log(error.name, error.message, error.hint);
  }`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-user-'));
  chmodSync(folder, 0o755);
  script = join(folder, 'open.mjs');
  layKoffiBeside(folder);
  buildSync({
    stdin: { contents: opener, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: script,
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function openAs(user: number, pid: number): Promise<ClientRun> {
  const [program, ...args] = [...asUser(user), process.execPath, script, String(pid)];
  return runClient(program!, args);
}

describe('an ordinary user', () => {
  test('opens the door of a sandbox of their own, on ports below 1024 too', async () => {
    const namespace = await makeNamespace({ uid });
    try {
      const opened = openAs(uid, namespace.pid);
      // Until the door is handed over a connection is refused, or taken and turned away.
      const dial = `
import socket, time
for _ in range(1500):
    try: answer = socket.create_connection(("203.0.113.5", 443), 5).recv(10).decode()
    except ConnectionError: answer = ""
    if answer: print(answer); break
    time.sleep(0.02)`;
      expect((await namespace.run(['python3', '-c', dial])).stdout).toBe('served\n');
      expect(await opened).toMatchObject({ code: 0, stdout: 'open\n', stderr: '' });
    } finally {
      await namespace.end();
    }
  });

  test('opens none in a sandbox of somebody else, and is told why', async () => {
    for (const owner of [{ uid: uid + 1 }, { userNamespace: false }]) {
      const namespace = await makeNamespace(owner);
      try {
        const { stdout } = await openAs(uid, namespace.pid);
        expect(stdout).toMatch(
          /^LaunchError this user may not (look at the namespaces|enter the network) of process \d+/,
        );
        expect(stdout).toContain('or as root');
      } finally {
        await namespace.end();
      }
    }
  });
});
