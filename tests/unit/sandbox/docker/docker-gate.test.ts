import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { gated } from '../../../../src/sandbox/docker/docker-gate.ts';
import type { SandboxPlan } from '../../../../src/sandbox/run/sandbox-plan.ts';
import { eventually } from '../../../support/eventually.ts';

const plan: SandboxPlan = { id: 'x', command: ['true'], workingDirectory: '/', environment: {}, mounts: [] };
const gate = { folder: '/gate', image: 'tools:1', imageEnvironment: {} };

/** The gate with the files of this machine where the container would see them, stopped; then these signals. */
async function run(
  command: readonly string[],
  signals: readonly NodeJS.Signals[] = ['SIGUSR1', 'SIGCONT'],
  imageEnvironment: Readonly<Record<string, string>> = {},
) {
  const environment = { PATH: '/usr/bin:/bin' };
  const held = await gated({ ...plan, command, environment }, { ...gate, imageEnvironment });
  const sources = new Map(held.mounts.map((mount) => [mount.target, 'source' in mount ? mount.source : '']));
  const here = (word: string) => word.replaceAll(/\/gate\/[\w.-]+/g, (path) => sources.get(path) ?? path);
  const [program, ...args] = held.command.map(here);
  const env = { ...imageEnvironment, ...held.environment };
  const child = spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  await eventually(() => /^State:\s*T/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8')), 'it has stopped');
  for (const signal of signals) child.kill(signal);
  const [stdout, stderr] = await output;
  return { code: await ended, stdout, stderr };
}

describe('the gate in front of a command in a container', () => {
  test('becomes the command when it is released', async () => {
    expect(await run(['echo', 'a b', '$HOME'])).toEqual({ code: 0, stdout: 'a b $HOME\n', stderr: '' });
  });

  test('ends without having started it when it is only woken, whatever the environment says', async () => {
    const woken = await run(['echo', 'started'], ['SIGCONT'], { sallyport_released: 'yes' });
    expect(woken).toEqual({ code: 125, stdout: '', stderr: '' });
  });

  test('gives it the environment that the container has, and nothing of a shell', async () => {
    const image = { 'discovery.type': "it's one", LD_PRELOAD: '/nowhere/of-the-image.so', PLAIN: 'yes', SHLVL: '7' };
    const { stdout } = await run(['env'], undefined, image);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('_='));
    expect(lines.sort()).toEqual(
      [...Object.entries(image).map(([name, value]) => `${name}=${value}`), 'PATH=/usr/bin:/bin'].sort(),
    );
    expect((await run(['env'])).stdout).not.toMatch(/^(?:PWD|OLDPWD|SHLVL|sallyport_released)=/m);
  });

  test('keeps what the image would have loaded away from the shell itself', async () => {
    const held = await gated(plan, { ...gate, imageEnvironment: { LD_PRELOAD: '/x.so', LD_LIBRARY_PATH: '/lib/x' } });
    expect(held.environment).toMatchObject({ LD_PRELOAD: '', LD_LIBRARY_PATH: '' });
  });

  test.each([
    ['nothing-of-the-kind', 127, /the image tools:1 has no program nothing-of-the-kind/],
    ['/nothing/of/the/kind', 127, /the image tools:1 has no program/],
    ['/etc/passwd', 126, /\/etc\/passwd in the image tools:1 may not be run/],
    ['/etc', 126, /may not be run/],
  ])('says what is wrong with %s', async (program, code, words) => {
    expect(await run([program])).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(words) });
  });
});
