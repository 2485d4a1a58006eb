// A command in a root of its own, made by bubblewrap or without it, as root and as an ordinary user: what it is, what it sees, how it ends and what is left.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaunchGround, makeLaunchGround, ordinaryUid, processesIn } from '../support/launch-ground.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

const users = [
  { who: 'root', uid: undefined, inside: 1000, owner: 0 },
  { who: 'an ordinary user', uid: ordinaryUid, inside: ordinaryUid, owner: ordinaryUid },
] as const;
const cases = (['bubblewrap', 'namespaces'] as const).flatMap((launcher) =>
  users.map((user) => ({ ...user, launcher })),
);

describe.each(cases)('a command that $who starts in $launcher', ({ uid, inside, owner, launcher }) => {
  const as = { launcher, ...(uid !== undefined && { uid }) };

  test('runs where it should, with the environment it was given and no other', async () => {
    const run = await ground.run({
      ...as,
      command: ['sh', '-c', 'pwd; env | sort'],
      environment: { GIVEN: "it's $here" },
    });
    expect(run.stderr).toBe('');
    expect(run.stdout.split('\n')).toEqual([
      ground.folder,
      "GIVEN=it's $here",
      `HOME=${ground.folder}`,
      'PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin',
      `PWD=${ground.folder}`,
      '',
    ]);
    expect(run.code).toBe(0);
  });

  test('what it writes belongs to whoever started it, and inside it is nobody special', async () => {
    const name = `made-by-${owner}`;
    const run = await ground.run({ ...as, command: ['sh', '-c', `id -u; id -g; : > ${name}; stat -c %u ${name}`] });
    expect(run.stdout).toBe(`${inside}\n${inside}\n${inside}\n`);
    const { uid: ownerUid, gid: ownerGid } = statSync(join(ground.folder, name));
    expect([ownerUid, ownerGid]).toEqual([owner, owner]);
  });

  test('sees its own processes, host name and interface alone, has no capability, and all that programs expect', async () => {
    const script = [
      'import json, os, pty, socket, tempfile',
      'for folder in ("/tmp", "/dev/shm"): tempfile.NamedTemporaryFile(dir=folder).close()',
      'status = dict(line.split(":", 1) for line in open("/proc/self/status"))',
      'print(json.dumps({',
      '  "processes": [int(name) for name in os.listdir("/proc") if name.isdigit()],',
      '  "terminal": os.ttyname(pty.openpty()[1]), "host": socket.gethostname(),',
      '  "interfaces": [name for _, name in socket.if_nameindex()], "sys": os.path.exists("/sys"),',
      '  "capabilities": [int(status["Cap" + name], 16) for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")],',
      '  "gains": int(status["NoNewPrivs"]) == 0, "filter": int(status["Seccomp"])}))',
    ].join('\n');
    const run = await ground.run({ ...as, command: ['/usr/bin/python3', '-c', script] });
    expect(JSON.parse(run.stdout)).toEqual({
      // The first process, which waits for the other, and python.
      processes: [1, expect.any(Number)],
      terminal: '/dev/pts/0',
      host: 'sallyport',
      interfaces: ['lo'],
      sys: false,
      capabilities: [0, 0, 0, 0, 0],
      gains: false,
      filter: 2,
    });
  });

  test('gets its input and gives its output and its errors apart', async () => {
    const run = await ground.run({
      ...as,
      command: ['sh', '-c', 'tr a-z A-Z; echo wrong >&2; exit 7'],
      input: 'words',
    });
    expect(run).toMatchObject({ stdout: 'WORDS', stderr: 'wrong\n', code: 7, told: { started: true, ended: 7 } });
  });

  test('ended by a signal it says so as shells do, and takes what it left running along', async () => {
    const script = 'setsid sleep 300 >/dev/null 2>&1 & sleep 0.1; kill -TERM $$';
    const run = await ground.run({ ...as, command: ['bash', '-c', script] });
    expect(run.code).toBe(143);
    expect(run.told.namespace).toMatch(/^net:\[\d+\]$/);
    expect(processesIn(String(run.told.namespace))).toEqual([]);
  });

  test('a signal passed on reaches the command itself, which may handle it', async () => {
    const script = 'trap "echo handled; exit 9" TERM; echo up; while :; do sleep 0.05; done';
    const { child, told } = ground.start({ ...as, command: ['bash', '-c', script] });
    await told();
    await told();
    await new Promise((resolve) => child.stdout!.once('data', resolve));
    child.kill('SIGTERM');
    expect(await told()).toEqual({ ended: 9 });
  });

  test('a signal passed on in the moment of its start is not lost', async () => {
    const run = await ground.run({ ...as, command: ['sleep', '300'], onceStarted: { signal: 'SIGTERM' } });
    expect(run.code).toBe(143);
  });

  test('killed, everything in it is gone when the end is told', async () => {
    const run = await ground.run({ ...as, command: ['bash', '-c', 'sleep 300 & sleep 300'], onceStarted: 'kill' });
    expect(run.told.ended).toBe(137);
    expect(processesIn(String(run.told.namespace))).toEqual([]);
  });

  test('one that does not exist ends with 127 and a word about it', async () => {
    const run = await ground.run({ ...as, command: ['no-such-program', 'x'] });
    expect(run.code).toBe(127);
    expect(run.stderr).toMatch(/no-such-program'?: (not found|No such file)/);
  });

  test('a mount that cannot be made is an error that names it, and nothing was started', async () => {
    const mounts = [{ kind: 'read-only', source: '/nonexistent/thing', target: '/opt' }] as const;
    const run = await ground.run({ ...as, command: ['touch', 'never'], mounts });
    expect(run.told.failed).toMatch(/could not be set up: .*\/nonexistent\/thing/);
    expect(run.told.hint).toMatch(/path in the message/);
    expect(() => statSync(join(ground.folder, 'never'))).toThrow('ENOENT');
  });

  test('a masked file reads as empty and a masked folder has nothing in it; what they hide is untouched', async () => {
    const secret = ground.write('secret', 'a key');
    const hidden = ground.write('hidden/key', 'another');
    const script =
      'cat secret; echo changed > secret; ls -A hidden; echo x > hidden/x; rm -f secret; rm -rf hidden; cat secret';
    const mounts = [
      { kind: 'masked-file', target: secret },
      { kind: 'masked-folder', target: join(ground.folder, 'hidden') },
    ] as const;
    const run = await ground.run({ ...as, command: ['sh', '-c', script], mounts });
    expect(run.stdout).toBe('');
    expect(run.stderr).toMatch(/cannot create hidden\/x: Read-only file system/);
    expect([readFileSync(secret, 'utf8'), readFileSync(hidden, 'utf8')]).toEqual(['a key', 'another']);
  });

  test('an agent inside can make a sandbox of its own', async () => {
    const inner = ['bwrap', '--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--', 'echo', 'nested'];
    const run = await ground.run({ ...as, command: inner });
    expect(run).toMatchObject({ stdout: 'nested\n', code: 0 });
  });
});
