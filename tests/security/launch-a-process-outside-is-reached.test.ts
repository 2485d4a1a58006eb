// Processes of the host, the gateway first of all, and those of other sandboxes: not to be seen, signalled, traced or read.
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LaunchGround, makeLaunchGround, ordinaryUid } from '../support/launch-ground.ts';
import { asUser } from '../support/namespace.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

// Every id there can be is tried: what is outside has no id inside. PTRACE_ATTACH is 16, process_vm_readv 310 and 270.
const reach = `
import ctypes, json, os, platform, signal
libc = ctypes.CDLL(None, use_errno=True)
mine = os.getpid()
report = {'seen': sorted(int(n) for n in os.listdir('/proc') if n.isdigit()), 'signalled': [], 'traced': [], 'read': []}
for pid in range(1, int(open('/proc/sys/kernel/pid_max').read())):
    if pid == mine: continue
    try: os.kill(pid, 0); report['signalled'].append(pid)
    except ProcessLookupError: continue
    except PermissionError: pass
for pid in range(1, 100000):
    if pid == mine: continue
    if libc.ptrace(16, pid, 0, 0) == 0: report['traced'].append(pid); os.waitpid(pid, 0x40000000); libc.ptrace(17, pid, 0, 0)
for name in ('environ', 'maps', 'mem', 'root', 'cwd', 'fd'):
    try:
        path = f'/proc/1/{name}'
        content = os.listdir(path) if name == 'fd' else os.readlink(path) if name in ('root', 'cwd') else open(path, 'rb').read(4096) if name != 'mem' else b''
        report['read'].append([name, str(content)])
    except OSError: pass
print(json.dumps(report))
`;

describe.each([
  { how: 'bubblewrap of root', order: {}, first: 'reaper' },
  { how: 'bubblewrap of an ordinary user', order: { uid: ordinaryUid }, first: 'reaper' },
  { how: 'plain unshare', order: { uid: ordinaryUid, launcher: 'unshare' }, first: 'init' },
] as const)('in $how', ({ order, first }) => {
  test('no process but its own is there, and the first of them gives nothing of the launcher away', async () => {
    ground.write('reach.py', reach);
    const run = await ground.run({
      ...order,
      command: ['/usr/bin/python3', 'reach.py'],
      launcherEnvironment: { ANTHROPIC_API_KEY: 'sk-of-the-host' },
    });
    const report = JSON.parse(run.stdout);
    expect(report.seen).toHaveLength(2);
    expect(report.seen[0]).toBe(1);
    for (const pid of [...report.signalled, ...report.traced]) expect(pid).toBe(1);
    expect(JSON.stringify(report)).not.toContain('sk-of-the-host');
    // The first process of plain unshare keeps a capability over the namespaces: it must be out of the command's reach.
    if (first === 'init') expect([report.traced, report.read]).toEqual([[], []]);
  });
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
