// The launcher is killed outright, at any moment: no process, no container that runs, and the next start removes what a
// killed launcher could not.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanDockerLeftovers, launcherLabel } from '../../src/sandbox/docker/docker-leftovers.ts';
import type { SandboxPlan } from '../../src/sandbox/run/sandbox-plan.ts';
import { startDockerd, type TestDockerd } from '../support/dockerd.ts';
import { eventually } from '../support/eventually.ts';
import { type DockerDriver, makeDockerDriver } from './launch-docker-driver.ts';

let dockerd: TestDockerd;
let driver: DockerDriver;
let temporary: string;
const plan: SandboxPlan = {
  id: 'one',
  command: ['sh', '-c', 'trap "" TERM INT HUP; sleep 987654 & echo up; wait; sleep 987654'],
  workingDirectory: '/',
  environment: {},
  mounts: [],
};

beforeAll(async () => {
  dockerd = await startDockerd();
  driver = makeDockerDriver(dockerd.folder);
  temporary = join(dockerd.folder, 'temporary');
  mkdirSync(temporary);
  await dockerd.importImage('tools:1', { programs: ['sh', 'sleep'] });
});

afterAll(async () => {
  await dockerd?.stop();
});

/** Until it has said `word`. */
async function begun(word: string): Promise<ChildProcess> {
  const child = driver.start('tools:1', plan, { ...dockerd.environment, TMPDIR: temporary });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      said += chunk;
    });
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`the launcher ended: ${said}`);
    return said.includes(word);
  }, `the launcher says ${word}`);
  return child;
}

/** Processes of the machine with `text` in their command line or environment: docker is told of its daemon by the latter. */
function processes(text: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const told = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${name}/${file}`, 'latin1'));
      return told.some((words) => words.includes(text)) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

const nothingRuns = () =>
  eventually(async () => {
    const running = (await dockerd.containers()).filter((line) => !line.endsWith(' created'));
    return (
      running.length === 0 &&
      processes(dockerd.folder).every((pid) => isDaemon(pid)) &&
      processes('987654').length === 0
    );
  }, 'nothing of the sandbox runs');

/** What the next start does. The daemon may still be removing one by itself. */
async function nothingIsLeft(): Promise<void> {
  await cleanDockerLeftovers({ environment: dockerd.environment });
  await eventually(async () => (await dockerd.containers()).length === 0, 'no container is left');
}

function isDaemon(pid: number): boolean {
  try {
    return /\/(?:dockerd|containerd|containerd-shim\S*)$/.test(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return true;
  }
}

describe('a launcher that is killed', () => {
  for (const moment of ['prepared', 'started', 'up'])
    test(`when it says ${moment} takes every process and container with it`, async () => {
      const child = await begun(moment);
      child.kill('SIGKILL');
      await nothingRuns();
      await nothingIsLeft();
      expect(readdirSync(temporary)).toEqual([]);
    });

  test('while it prepares leaves nothing that the next start does not remove', async () => {
    for (const delayMs of [20, 80, 140, 200, 260]) {
      const child = await begun('began');
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill('SIGKILL');
    }
    await nothingRuns();
    await nothingIsLeft();
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('together with its docker commands takes every process with it', async () => {
    const child = await begun('up');
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
    const commands = children.trim().split(' ').map(Number);
    expect(commands.length).toBe(2);
    for (const pid of [child.pid!, ...commands]) process.kill(pid, 'SIGKILL');
    await nothingRuns();
    await eventually(async () => (await dockerd.containers()).length === 0, 'both containers are removed');
  });
});

test('only what belongs to a launcher that is gone is removed', async () => {
  const [key, value] = launcherLabel().split('=') as [string, string];
  const [boot, space, pid, startedAt] = value.split('/') as [string, string, string, string];
  const labels: Record<string, string | null> = {
    alive: value,
    'pid-used-again': `${boot}/${space}/${pid}/${Number(startedAt) - 1}`,
    'no-such-process': `${boot}/${space}/4194305/1`,
    'another-boot': `00000000-0000-0000-0000-000000000000/${space}/${pid}/${startedAt}`,
    'another-pid-namespace': `${boot}/1${space}/4194305/1`,
    unreadable: 'x',
    foreign: null,
  };
  // As launchers name them.
  const kinds = Object.keys(labels);
  const named = (kind: string): string => `sallyport-${String(kinds.indexOf(kind)).padStart(16, '0')}`;
  for (const [kind, label] of Object.entries(labels))
    await dockerd.docker(
      'create',
      '--name',
      named(kind),
      ...(label === null ? [] : ['--label', `${key}=${label}`]),
      'tools:1',
      'sh',
    );
  const removed = await cleanDockerLeftovers({ environment: dockerd.environment });
  expect([...removed].sort()).toEqual(['another-boot', 'no-such-process', 'pid-used-again'].map(named).sort());
  const left = await dockerd.containers();
  expect([...left].sort()).toEqual(
    ['alive', 'another-pid-namespace', 'foreign', 'unreadable'].map((kind) => `${named(kind)} created`).sort(),
  );
});
