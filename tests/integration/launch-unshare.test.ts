// A command in plain unshare: the network, the processes and what is masked are kept from it; files are not, and it says so.
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Mount } from '../../src/sandbox/run/sandbox-plan.ts';
import {
  type LaunchGround,
  type LaunchOrder,
  makeLaunchGround,
  ordinaryUid,
  processesIn,
} from '../support/launch-ground.ts';

let ground: LaunchGround;
beforeAll(() => {
  ground = makeLaunchGround();
});
afterAll(() => ground.remove());

const run = (order: Omit<LaunchOrder, 'launcher' | 'uid'>) =>
  ground.run({ ...order, launcher: 'unshare', uid: ordinaryUid });

describe('a command in plain unshare', () => {
  test('is the same user, in the same place, with the environment it was given and nothing else', async () => {
    const script = 'pwd; id -u; : > made; echo "$GIVEN"; env | cut -d= -f1 | sort | tr "\n" " "';
    const { stdout, told } = await run({ command: ['sh', '-c', script], environment: { GIVEN: "it's $here" } });
    expect(stdout).toBe(`${ground.folder}\n${ordinaryUid}\nit's $here\nGIVEN HOME PATH PWD `);
    expect(statSync(join(ground.folder, 'made')).uid).toBe(ordinaryUid);
    expect(told.notice).toEqual([
      expect.stringMatching(/DOES NOT ISOLATE FILES/),
      expect.stringMatching(/Unix sockets/),
    ]);
  });

  test('sees its own processes and interface alone, has no capability and is filtered', async () => {
    const script = [
      'import json, os, socket',
      'status = dict(line.split(":", 1) for line in open("/proc/self/status"))',
      'print(json.dumps({"processes": sum(name.isdigit() for name in os.listdir("/proc")),',
      '  "interfaces": [name for _, name in socket.if_nameindex()], "sys": os.listdir("/sys"),',
      '  "capabilities": [int(status["Cap" + name], 16) for name in ("Inh", "Prm", "Eff", "Amb")],',
      '  "gains": int(status["NoNewPrivs"]) == 0, "filter": int(status["Seccomp"])}))',
    ].join('\n');
    const { stdout } = await run({ command: ['/usr/bin/python3', '-c', script] });
    expect(JSON.parse(stdout)).toEqual({
      processes: 2,
      interfaces: ['lo'],
      sys: [],
      capabilities: [0, 0, 0, 0],
      gains: false,
      filter: 2,
    });
  });

  test('does not see what is masked, cannot lift a mask, and sees what is bound over a file', async () => {
    const secret = ground.write('secret', 'a key');
    const bound = ground.write('bound', 'ours');
    const covered = ground.write('covered', 'theirs');
    ground.write('hidden/key', 'another');
    const mounts: readonly Mount[] = [
      { kind: 'masked-file', target: secret },
      { kind: 'masked-folder', target: join(ground.folder, 'hidden') },
      // Below what is covered by then.
      { kind: 'empty', target: '/opt' },
      { kind: 'read-only', source: bound, target: covered },
    ];
    const script = [
      'cat secret; ls -A hidden; cat covered; echo; ls -A /opt',
      'exec 2>&1; echo x > covered; echo x > hidden/x; umount secret; unshare -Urm umount secret; cat secret',
    ].join('\n');
    const { stdout } = await run({ command: ['sh', '-c', script], mounts });
    expect(stdout.split('\n')).toEqual([
      'ours',
      expect.stringMatching(/cannot create covered: Read-only file system/),
      expect.stringMatching(/cannot create hidden\/x: Read-only file system/),
      expect.stringMatching(/must be superuser/),
      // The kernel does not let go what a less trusted namespace inherited.
      expect.stringMatching(/umount: .*secret: (not mounted|.*)/),
      '',
    ]);
    expect(readFileSync(secret, 'utf8')).toBe('a key');
    expect(readFileSync(covered, 'utf8')).toBe('theirs');
  });

  test('reaches no program of the session by its Unix socket', async () => {
    const listening = mkdtempSync('/tmp/tmux-');
    chmodSync(listening, 0o777);
    const server = createServer().listen(join(listening, 'default'));
    await once(server, 'listening');
    chmodSync(join(listening, 'default'), 0o777);
    try {
      const script = `import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])`;
      const { stderr } = await run({ command: ['/usr/bin/python3', '-c', script, join(listening, 'default')] });
      expect(stderr).toMatch(/FileNotFoundError/);
    } finally {
      server.close();
      rmSync(listening, { recursive: true });
    }
  });

  test('ends as it ends: code, signal, not found, and nothing is left running', async () => {
    expect((await run({ command: ['sh', '-c', 'exit 7'] })).code).toBe(7);
    const missing = await run({ command: ['no-such-program'] });
    expect([missing.code, missing.stderr]).toEqual([127, expect.stringMatching(/no-such-program/)]);
    const signalled = await run({
      command: ['bash', '-c', 'setsid sleep 300 & sleep 300'],
      onceStarted: { signal: 'SIGTERM' },
    });
    expect(signalled.code).toBe(143);
    expect(processesIn(String(signalled.told.namespace))).toEqual([]);
  });

  test('a mount that cannot be made is an error that names it, and nothing was started', async () => {
    const mounts: readonly Mount[] = [{ kind: 'masked-file', target: '/nonexistent/thing' }];
    const { told } = await run({ command: ['touch', 'never'], mounts });
    expect(told.failed).toMatch(/could not be set up: .*\/nonexistent\/thing/);
    expect(existsSync(join(ground.folder, 'never'))).toBe(false);
  });

  test('is not to be had for root, from whom it would isolate nothing', async () => {
    const { told } = await ground.run({ launcher: 'unshare', command: ['true'] });
    expect(told).toEqual({
      failed: expect.stringMatching(/does not contain root/),
      hint: expect.stringMatching(/bubblewrap/),
    });
  });
});
