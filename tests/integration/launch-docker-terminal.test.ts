// A command in a container with a terminal: the launcher runs on a real pseudo-terminal, as a person's shell would start it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SandboxPlan } from '../../src/sandbox/run/sandbox-plan.ts';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { runClient } from '../support/run-client.ts';
import { type DockerDriver, makeDockerDriver } from './launch-docker-driver.ts';

let dockerd: TestDockerd;
let driver: DockerDriver;

beforeAll(async () => {
  dockerd = await startDockerd();
  driver = makeDockerDriver(dockerd.folder);
  await dockerd.importImage('tools:1', { programs: ['sh', 'sleep', 'stty', 'tty', 'cat'] });
  writeFileSync(join(dockerd.folder, 'person.py'), person);
});

afterAll(async () => {
  await dockerd?.stop();
});

/** Waits for a text on the screen, then types or resizes; prints the screen and the exit code as JSON. */
const person = `
import fcntl, json, os, pty, select, struct, sys, termios, time
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.05)
    os.execvp(command[0], command)
def size(rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
size(33, 101)
screen, end = '', time.time() + 50
seen = 0
while time.time() < end:
    ready, _, _ = select.select([fd], [], [], 0.1)
    if ready:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        screen += data.decode('latin1')
    if steps and steps[0][0] in screen[seen:]:
        seen = screen.index(steps[0][0], seen) + len(steps[0][0])
        _, act, value = steps.pop(0)
        if act == 'type':
            os.write(fd, value.encode())
        else:
            size(*value)
_, status = os.waitpid(pid, 0)
print(json.dumps({'screen': screen, 'code': os.waitstatus_to_exitcode(status)}))
`;

type Step = readonly [seen: string, act: 'type' | 'resize', value: string | readonly [number, number]];

async function sit(command: readonly string[], steps: readonly Step[]): Promise<{ screen: string; code: number }> {
  const plan: SandboxPlan = { id: 'one', command, workingDirectory: '/', environment: { TERM: 'xterm' }, mounts: [] };
  const args = [process.execPath, driver.program, 'tools:1', 'terminal', JSON.stringify(plan)];
  const ran = await runClient('python3', [join(dockerd.folder, 'person.py'), JSON.stringify(steps), ...args], {
    env: dockerd.environment,
    timeoutMs: 55_000,
  });
  expect(ran.stderr).toBe('');
  return JSON.parse(ran.stdout) as { screen: string; code: number };
}

test('the size of the window is known and follows it, keys arrive, and Ctrl-C ends the command with 130', async () => {
  const script = `tty; until [ "$(stty size)" = "33 101" ]; do sleep 0.05; done; echo "first size"
    until [ "$(stty size)" = "40 120" ]; do sleep 0.05; done; echo "second size"
    read line; echo "read <$line>"; printf '\\033[1mbold\\033[0m'; echo waiting; exec sleep 300`;
  const { screen, code } = await sit(
    ['sh', '-c', script],
    [
      ['first size', 'resize', [40, 120]],
      // Ctrl-P would be held back by docker's own keys to leave a container.
      ['second size', 'type', 'typed\u0010\n'],
      ['waiting', 'type', '\u0003'],
    ],
  );
  expect(screen).toContain('/dev/pts/0');
  expect(screen).toContain('read <typed\u0010>');
  expect(screen).toContain('\u001b[1mbold');
  expect(code).toBe(130);
  expect(await dockerd.containers()).toEqual([]);
});

test('a program that is not there is said on the terminal too', async () => {
  const { screen, code } = await sit(['nothing-of-the-kind'], []);
  expect(screen).toContain('the image tools:1 has no program nothing-of-the-kind');
  expect(code).toBe(127);
});
