// A command in a container image, started by the Docker launcher against a real daemon: what it sees, what it writes, how
// it ends. The listener in its namespace stands for the door.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDockerLauncher } from '../../src/sandbox/docker/docker.ts';
import { closeNamespaceHandles, openNamespaceDoor } from '../../src/sandbox/namespace/open-namespace-door.ts';
import type { Mount, PreparedSandbox, RunningSandbox, SandboxPlan } from '../../src/sandbox/run/sandbox-plan.ts';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { eventually } from '../support/eventually.ts';
import { makeDockerDriver } from './launch-docker-driver.ts';

let dockerd: TestDockerd;
let work: string;

beforeAll(async () => {
  dockerd = await startDockerd();
  await dockerd.importImage(
    'tools:1',
    {
      programs: ['sh', 'cat', 'ls', 'id', 'sleep', 'env', 'curl', 'touch', 'stty', 'ps', 'ip', 'chmod'],
      copies: { '/bin/sh': '/bin/sh' },
      texts: { '/etc/ssl/certs/ca-certificates.crt': 'the bundle of the image\n', '/etc/locked': '' },
    },
    ['ENV FROM_IMAGE=yes', 'ENV LD_PRELOAD=/nowhere.so', 'ENTRYPOINT ["/entry"]', 'VOLUME /data', 'HEALTHCHECK CMD /x'],
  );
  work = mkdtempSync(join(dockerd.folder, 'work, "it" '));
});

afterAll(async () => {
  await dockerd?.stop();
});

function launcher(image = 'tools:1') {
  return createDockerLauncher({ image, environment: dockerd.environment });
}

function plan(command: readonly string[], changes: Partial<SandboxPlan> = {}): SandboxPlan {
  const mounts: Mount[] = [{ kind: 'read-write', source: work, target: '/work' }];
  return { id: 'one', command, workingDirectory: '/work', environment: { LD_PRELOAD: '' }, mounts, ...changes };
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function outcome(running: RunningSandbox, input = ''): Promise<Outcome> {
  const { stdin, stdout, stderr } = running.streams!;
  stdin.end(input);
  const [out, errors, code] = await Promise.all([text(stdout), text(stderr), running.ended]);
  return { code, stdout: out, stderr: errors };
}

async function run(command: readonly string[], changes: Partial<SandboxPlan> = {}, input = ''): Promise<Outcome> {
  const prepared = await launcher().prepare('piped');
  return await outcome(await prepared.start(plan(command, changes)), input);
}

describe('a command in an image', () => {
  test('has its streams, its working directory, its environment and nothing of the entry point', async () => {
    const script = 'pwd; cat; echo "$ONE|$FROM_IMAGE"; echo to-stderr >&2; echo made > file; exit 7';
    const ran = await run(['sh', '-c', script], { environment: { ONE: 'a b\nc', LD_PRELOAD: '' } }, 'from stdin\n');
    expect(ran).toEqual({ code: 7, stdout: '/work\nfrom stdin\na b\nc|yes\n', stderr: 'to-stderr\n' });
    expect(readFileSync(join(work, 'file'), 'utf8')).toBe('made\n');
    expect(statSync(join(work, 'file')).uid).toBe(process.getuid?.());
    expect(await dockerd.containers()).toEqual([]);
    expect((await dockerd.docker('volume', 'ls', '--quiet')).stdout).toBe('');
  });

  test('sees each kind of mount as the plan says', async () => {
    const given = join(dockerd.folder, 'given');
    mkdirSync(join(given, 'secret'), { recursive: true });
    writeFileSync(join(given, 'secret', 'key'), 'a key');
    writeFileSync(join(given, 'open'), 'open');
    writeFileSync(join(given, '.netrc'), 'a login');
    const bundle = join(dockerd.folder, 'bundle.pem');
    writeFileSync(bundle, 'our bundle\n');
    const resolver = join(dockerd.folder, 'resolv.conf');
    writeFileSync(resolver, 'nameserver 198.51.100.53\n');
    const script = `cat /given/open /given/.netrc; ls /given/secret; echo x > /given/open; echo x > /given/secret/new
      cat /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/resolv.conf; ls /tmp
      printf '#!/bin/sh\\necho ran in tmp\\n' > /tmp/run; chmod +x /tmp/run; /tmp/run`;
    const ran = await run(['sh', '-c', script], {
      mounts: [
        { kind: 'read-write', source: work, target: '/tmp/covered' },
        { kind: 'read-write', source: work, target: '/work' },
        { kind: 'read-only', source: given, target: '/given' },
        { kind: 'masked-file', target: '/given/.netrc' },
        { kind: 'masked-folder', target: '/given/secret' },
        { kind: 'empty', target: '/tmp' },
        { kind: 'read-only', source: bundle, target: '/etc/ssl/certs/ca-certificates.crt' },
        { kind: 'read-only', source: bundle, target: '/etc/pki/tls/certs/ca-bundle.crt' },
        { kind: 'read-only', source: resolver, target: '/etc/resolv.conf' },
      ],
    });
    expect(ran.stdout).toMatch(/^openour bundle\nour bundle\nnameserver 198\.51\.100\.53\nran in tmp\n$/);
    expect(ran.stderr).toMatch(/\/given\/open: Read-only file system\n.*\/given\/secret\/new: Read-only file system/);
    expect(readFileSync(join(given, 'open'), 'utf8')).toBe('open');
  });

  test('reaches a listener in its namespace at any address, and finds no port else', async () => {
    const prepared = await launcher().prepare('piped');
    // As the gateway does: every address becomes local.
    closeNamespaceHandles(await openNamespaceDoor({ pid: prepared.pid, ports: [] }));
    const listener = listenInside(prepared, 80);
    try {
      await listener.ready;
      const script =
        'for u in http://192.0.2.7/ "http://[2001:db8::7]/" http://192.0.2.7:81/; do curl -sS "$u" 2>&1; echo; done; cat /etc/resolv.conf';
      const ran = await outcome(await prepared.start(plan(['sh', '-c', script])));
      expect(ran.stdout).toMatch(/^hello 192\.0\.2\.7\nhello 2001:db8::7\ncurl: \(7\).*\nnameserver 127\.0\.0\.1\n/s);
    } finally {
      listener.end();
    }
  });

  test('gets signals, and ends with 128 and the signal when they end it', async () => {
    const prepared = await launcher().prepare('piped');
    const script = 'trap "echo got it" USR1; echo up; while :; do sleep 0.05; done';
    const running = await prepared.start(plan(['sh', '-c', script]));
    let heard = '';
    running.streams!.stdout.on('data', (chunk: Buffer) => {
      heard += chunk;
    });
    await eventually(() => heard.includes('up'), 'the command is up');
    running.signal('SIGUSR1');
    await eventually(() => heard.includes('got it'), 'the trap ran');
    running.signal('SIGTERM');
    expect(await running.ended).toBe(143);
    expect(await dockerd.containers()).toEqual([]);
  });

  test('gets a signal that was sent before it had begun', async () => {
    const prepared = await launcher().prepare('piped');
    const running = await prepared.start(plan(['sleep', '300']));
    running.signal('SIGINT');
    expect(await running.ended).toBe(130);
  });

  test('leaves no process behind, nor does the dead weigh on it', async () => {
    const untilTheyAreGone =
      'n=0; while [ $n -lt 200 ]; do case "$(ps -eo stat=)" in *Z*) sleep 0.05;; *) break;; esac; n=$((n+1)); done';
    const script = `(sleep 300 &) ; for i in 1 2 3; do (sleep 0.01 &); done; sleep 0.3; ${untilTheyAreGone}; ps -eo stat=,args=`;
    const ran = await run(['sh', '-c', script]);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain('sleep 300');
    expect(ran.stdout).not.toMatch(/^Z/m);
    expect(await dockerd.containers()).toEqual([]);
  });

  test('is killed with everything it started', async () => {
    const prepared = await launcher().prepare('piped');
    // Were it asked first and killed later, it would say so.
    const script = 'trap "echo asked" TERM; sleep 300 & echo up; while :; do sleep 0.05; done';
    const running = await prepared.start(plan(['sh', '-c', script]));
    let said = '';
    running.streams!.stdout.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    await eventually(() => said.includes('up\n'), 'the command is up');
    running.kill();
    expect(await running.ended).toBe(137);
    expect(said).toBe('up\n');
    expect(await dockerd.containers()).toEqual([]);
  });
});

describe('what cannot be started is said in words', () => {
  test('an image that is not there', async () => {
    await expect(launcher('registry.example/nothing:1').prepare('piped')).rejects.toMatchObject({
      name: 'LaunchError',
      message: expect.stringContaining('registry.example/nothing:1'),
      hint: expect.stringContaining('docker pull'),
    });
  });

  test('a daemon that is not there', async () => {
    const environment = { ...dockerd.environment, DOCKER_HOST: `unix://${dockerd.folder}/none.sock` };
    await expect(createDockerLauncher({ image: 'tools:1', environment }).prepare('piped')).rejects.toMatchObject({
      name: 'LaunchError',
      hint: expect.stringContaining('start the Docker daemon'),
    });
  });

  test('a docker command that is not there', async () => {
    const options = { image: 'tools:1', docker: '/nowhere/docker', environment: dockerd.environment };
    await expect(createDockerLauncher(options).prepare('piped')).rejects.toMatchObject({
      name: 'LaunchError',
      message: 'the docker command was not found',
    });
  });

  test('a user who may use the daemon but not enter its networks', async () => {
    // As for a member of the group docker.
    chmodSync(join(dockerd.folder, 'docker.sock'), 0o666);
    const ran = await makeDockerDriver(dockerd.folder).runAs(54321, 'tools:1', plan(['sh']), dockerd.environment);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      'this user may use the Docker daemon, but may not enter the network of its containers',
    );
    expect(ran.stderr).toContain('run with sudo, use rootless Docker, or leave --image out to use bubblewrap');
    expect(await dockerd.containers()).toEqual([]);
  });

  test('a program that the image does not have: 127, one that may not be run: 126, and an end with 127 is left alone', async () => {
    const commands = [['nothing-of-the-kind'], ['/etc/locked'], ['sh', '-c', 'exit 127']];
    const [missing, locked, own] = await Promise.all(commands.map((command) => run(command)));
    expect(missing).toMatchObject({ code: 127, stderr: expect.stringContaining('has no program nothing-of-the-kind') });
    expect(locked).toMatchObject({ code: 126, stderr: expect.stringContaining('/etc/locked in the image tools:1') });
    expect(own).toEqual({ code: 127, stdout: '', stderr: '' });
  });

  test('a folder to mount that is gone, and nothing is left of the try', async () => {
    const prepared = await launcher().prepare('piped');
    const mounts: Mount[] = [{ kind: 'read-only', source: '/nowhere/at/all', target: '/x' }];
    await expect(prepared.start(plan(['sh'], { mounts }))).rejects.toMatchObject({
      name: 'LaunchError',
      message: expect.stringContaining('/nowhere/at/all'),
    });
    expect(await dockerd.containers()).toEqual([]);
  });
});

test('a prepared sandbox that is discarded leaves nothing', async () => {
  const prepared = await launcher().prepare('piped');
  expect(await dockerd.containers()).toEqual([expect.stringMatching(/^sallyport-[0-9a-f]{16} running$/)]);
  await prepared.discard();
  expect(await dockerd.containers()).toEqual([]);
});

/** Answers with the address that was asked for, as the gateway's door would see it. */
function listenInside(prepared: PreparedSandbox, port: number): { ready: Promise<unknown>; end(): void } {
  const program = `require('node:http').createServer((q, r) => r.end('hello ' + q.socket.localAddress.replace('::ffff:', '')))
    .listen(${port}, '::', () => console.log('ready'))`;
  const args = ['--target', String(prepared.pid), '--net', '--', process.execPath, '-e', program];
  const child = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return { ready: new Promise((resolve) => child.stdout.once('data', resolve)), end: () => void child.kill('SIGKILL') };
}
