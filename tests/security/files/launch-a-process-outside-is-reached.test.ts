// Processes of the host, the gateway first of all, and those of other sandboxes: not to be seen, signalled, traced or read.
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaunchGround, makeLaunchGround, ordinaryUid } from '../../support/launch-ground.ts';
import { asUser } from '../../support/namespace.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

// Outside they have ids, and those are tried; inside they have none. PTRACE_ATTACH is 16, PTRACE_DETACH 17.
const reach = `
import ctypes, json, os, sys
libc = ctypes.CDLL(None)
mine = os.getpid()
report = {'seen': sorted(int(name) for name in os.listdir('/proc') if name.isdigit()), 'signalled': [], 'traced': [], 'read': []}
for pid in [*range(1, 500), *map(int, sys.argv[1:])]:
    if pid == mine: continue
    try: os.kill(pid, 0); report['signalled'].append(pid)
    except OSError: pass
    if libc.ptrace(16, pid, 0, 0) == 0: report['traced'].append(pid); os.waitpid(pid, 0x40000000); libc.ptrace(17, pid, 0, 0)
for path, read in {'environ': lambda p: open(p, 'rb').read(), 'maps': lambda p: open(p).read(), 'mem': lambda p: os.pread(os.open(p, os.O_RDONLY), 1, 0),
                   'root': os.listdir, 'cwd': os.listdir, 'fd/0': os.readlink}.items():
    try: report['read'].append([path, str(read('/proc/1/' + path))])
    except OSError: pass
print(json.dumps(report))
`;

describe.each([
  { how: 'bubblewrap of root', order: {}, first: 'reaper' },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid }, first: 'reaper' },
  { how: 'namespaces of root', order: { launcher: 'namespaces' }, first: 'init' },
  { how: 'namespaces of an ordinary user', order: { uid: ordinaryUid, launcher: 'namespaces' }, first: 'init' },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' }, first: 'init' },
] as const)('in $how', ({ order, first }) => {
  test('no process but its own is there, and the first of them gives nothing of the launcher away', async () => {
    ground.write('reach.py', reach);
    const run = await ground.run({
      ...order,
      command: ['/usr/bin/python3', 'reach.py', String(process.pid), String(process.ppid)],
      launcherEnvironment: { ANTHROPIC_API_KEY: 'sk-of-the-host' },
    });
    const report = JSON.parse(run.stdout);
    expect(report.seen).toHaveLength(2);
    expect(report.seen[0]).toBe(1);
    for (const pid of [...report.signalled, ...report.traced]) expect(pid).toBe(1);
    expect(JSON.stringify(report)).not.toContain('sk-of-the-host');
    // The first process without bubblewrap keeps a capability over the namespaces: it must be out of the command's reach.
    if (first === 'init') expect([report.traced, report.read]).toEqual([[], []]);
  });
});

test('with pipes in place of a terminal, `kill 0` ends the command and not whoever launched it', async () => {
  const run = await ground.run({ command: ['sh', '-c', 'kill -KILL 0'] });
  expect([run.told.ended, run.code]).toEqual([137, 137]);
});

test('what the launching process was given open by its own parent does not reach the command', async () => {
  const secret = ground.write('parents-file', 'open elsewhere');
  const words = [
    ...asUser(ordinaryUid),
    ...ground.words({ command: ['sh', '-c', 'cat /proc/self/fd/* <&- 2>/dev/null; ls -l /proc/self/fd'] }),
  ];
  const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const child = spawn('bash', ['-c', `exec 7<${secret} 42<${secret} 250<${secret} 3>/dev/null; exec ${quoted}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: ground.folder,
  });
  let stdout = '';
  for await (const part of child.stdout) stdout += part;
  expect(stdout).toMatch(/ 0 -> /);
  expect(stdout).not.toContain('open elsewhere');
  expect(stdout).not.toContain('parents-file');
});
