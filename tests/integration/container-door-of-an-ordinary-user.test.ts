// The door of a container opened by somebody who is not root: in a container of their own rootless Docker, and never in one
// that root's Docker runs.
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { layKoffiBeside } from '../support/koffi-beside.ts';
import { asUser } from '../support/namespace.ts';
import { makePretendContainer } from '../support/pretend-container.ts';
import { startClient } from '../support/run-client.ts';

const uid = 54_321;
let dockerd: TestDockerd;
let script: string;

/** Leads the container home and opens a door in it, serves one connection, and says what came of it. */
const opener = `
  import { containerNetwork } from './src/sandbox/docker/container-network.ts';
  import { openNamespaceDoor, closeNamespaceHandles } from './src/sandbox/namespace/open-namespace-door.ts';
  const [pid, id] = [Number(process.argv[2]), process.argv[3]];
  try {
    const handles = await openNamespaceDoor({ pid, ports: [443], network: containerNetwork(pid, id) });
    handles.tcp.get(443).on('connection', (socket) => {
      socket.end('HTTP/1.0 200 OK\\r\\n\\r\\nserved at ' + socket.localAddress);
      closeNamespaceHandles(handles);
    });
    console.log('open');
  } catch (error) {
    console.log(error.name, error.message, '|', error.hint, 'end');
  }`;

beforeAll(async () => {
  dockerd = await startDockerd({ rootless: uid });
  await dockerd.importImage('tools:1', { programs: ['sh', 'sleep', 'curl'] });
  script = join(dockerd.folder, 'open.mjs');
  layKoffiBeside(dockerd.folder);
  buildSync({
    stdin: { contents: opener, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: script,
  });
});

afterAll(async () => {
  await dockerd?.docker('rm', '--force', 'boxed');
  await dockerd?.stop();
});

function openAs(user: number, pid: number, id: string): ReturnType<typeof startClient> {
  const [program, ...args] = [...asUser(user), process.execPath, script, String(pid), id];
  return startClient(program!, args);
}

test('an ordinary user opens the door of a container of their own Docker', async () => {
  const started = await dockerd.docker(
    'run',
    '--detach',
    '--name',
    'boxed',
    '--network',
    'none',
    'tools:1',
    'sleep',
    '60',
  );
  expect(started.stderr).toBe('');
  const { stdout } = await dockerd.docker('inspect', '--format', '{{.State.Pid}} {{.Id}}', 'boxed');
  const [pid, id] = stdout.trim().split(' ');
  const opening = openAs(uid, Number(pid), id!);
  expect(await opening.stdout.until('\n')).toBe('open\n');
  const run = await dockerd.docker('exec', 'boxed', 'curl', '-sS', '-m', '5', 'http://203.0.113.5:443/');
  expect(run.stdout).toMatch(/^served at (::ffff:)?203\.0\.113\.5$/);
  expect(await opening.ended).toBe(0);
});

test("but none of root's, and is told why", async () => {
  const others = await makePretendContainer();
  try {
    const opening = openAs(uid, others.pid, others.id);
    expect(await opening.stdout.until('end')).toMatch(
      /^LaunchError this user may not look at the namespaces of process \d+ \| .*or as root/,
    );
    await opening.ended;
  } finally {
    await others.end();
  }
});
