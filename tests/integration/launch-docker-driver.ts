// A process that starts one sandbox by the Docker launcher and lives until it is killed or the command ends: for the tests
// that kill it at any moment, or give it a terminal.
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import type { SandboxPlan } from '../../src/sandbox/run/sandbox-plan.ts';
import { layKoffiBeside } from '../support/koffi-beside.ts';
import { type ClientRun, runClient } from '../support/run-client.ts';

export interface DockerDriver {
  /** `node PROGRAM image stdio plan [engine]`. Prints `prepared` and `started`, then ends as the command does. */
  readonly program: string;
  /** To its end, as an ordinary user with a home of their own. */
  runAs(
    uid: number,
    image: string,
    plan: SandboxPlan,
    environment: Readonly<Record<string, string>>,
  ): Promise<ClientRun>;
  start(image: string, plan: SandboxPlan, environment: Readonly<Record<string, string>>): ChildProcess;
}

const source = `
import { closeNamespaceHandles, createDockerLauncher, openNamespaceDoor } from './docker.mjs';
const [image, stdio, plan, engine = 'docker'] = process.argv.slice(2);
console.error('began');
const prepared = await createDockerLauncher({ image, environment: process.env, engine }).prepare(stdio);
// As the gateway does: every address becomes local.
closeNamespaceHandles(await openNamespaceDoor({ pid: prepared.pid, ports: [] }));
console.error('prepared');
const running = await prepared.start(JSON.parse(plan));
console.error('started');
running.streams?.stdout.pipe(process.stdout);
running.streams?.stderr.pipe(process.stderr);
process.exit(await running.ended);
`;

export function makeDockerDriver(folder: string): DockerDriver {
  const resolveDir = fileURLToPath(new URL('../../src/sandbox', import.meta.url));
  const contents = "export * from './docker/docker.ts'; export * from './namespace/open-namespace-door.ts';";
  layKoffiBeside(folder);
  const outfile = join(folder, 'docker.mjs');
  buildSync({
    stdin: { contents, resolveDir, loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  const program = join(folder, 'driver.mjs');
  writeFileSync(program, source);
  return {
    program,
    runAs(uid, image, plan, environment) {
      const home = join(folder, `home-of-${uid}`);
      mkdirSync(home);
      chownSync(home, uid, uid);
      const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
      const env = { ...environment, HOME: home, TMPDIR: home };
      const args = [...user, process.execPath, program, image, 'piped', JSON.stringify(plan)];
      return runClient('setpriv', args, { env, cwd: '/' });
    },
    start: (image, plan, env) =>
      spawn(process.execPath, [program, image, 'piped', JSON.stringify(plan)], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
  };
}
