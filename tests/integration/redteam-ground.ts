// The red team's ground with next to no controls: a launcher that isolates the network and nothing else, so that the host's
// files, processes and capabilities stay in reach, and a policy that allows what it should not. For tests that must see
// holes reported where there are some.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startQuietGateway } from '../../src/cli/steps/quiet-gateway.ts';
import { attackList } from '../../src/prove/redteam/attack-list.ts';
import { type AttackGroundPorts, prepareGround } from '../../src/prove/redteam/prepare-ground.ts';
import {
  foreignHost,
  foreignRepository,
  modelHost,
  neighbourRepository,
  ownRepository,
  providerHost,
} from '../../src/prove/redteam/redteam-hosts.ts';
import { type AttackResult, AttackRun } from '../../src/prove/redteam/run-attacks.ts';
import type { Launcher } from '../../src/sandbox/run/sandbox-plan.ts';
import { makeNamespace } from '../support/namespace.ts';

/** Makes these attacks where hardly anything stops them, and clears the ground again. */
export async function attackWithoutControls(names: readonly string[]): Promise<Map<string, AttackResult>> {
  const launcher = createLeakyLauncher();
  const prepared = await prepareGround({ launcher, environment: process.env, startGateway: startQuietGateway, loosen });
  try {
    const run = new AttackRun(prepared);
    const results = new Map<string, AttackResult>();
    for (const name of names) {
      const attack = attackList.find((one) => one.name === name);
      if (attack === undefined) throw new Error(`there is no attack ${name}`);
      results.set(name, await run.make(attack));
    }
    return results;
  } finally {
    await prepared.clear();
  }
}

const loosen: NonNullable<AttackGroundPorts['loosen']> = {
  policy: ({ credentials, ...document }) => ({
    ...document,
    credentials: {
      ...(credentials as Record<string, object>),
      anthropic: { ...(credentials as Record<string, object>).anthropic, add_paths: ['/**'] },
    },
    allow: [
      ...(document.allow as object[]),
      { host: modelHost, effects: ['mint-credential', 'remote-agent'] },
      { host: foreignHost, ports: [443, 80], plain_http: true },
      { host: `*.${foreignHost}` },
      { host: providerHost, ports: [443, 80], plain_http: true },
    ],
    policy: {
      blocked_api_patterns: {},
      protected_branches: [],
      protected_paths: [],
      allow_force_push: true,
      allow_branch_deletion: true,
    },
    github: { effects: { bot: { allow: ['merge', 'release', 'delete-repository'] } } },
  }),
  registration: { repos: [ownRepository, foreignRepository, neighbourRepository], allowed_branches: ['**'] },
};

function createLeakyLauncher(): Launcher {
  return {
    name: 'unshare',
    notice: [],
    async prepare() {
      const namespace = await makeNamespace({ userNamespace: false });
      return {
        pid: namespace.pid,
        discard: () => namespace.end(),
        async start({ command, workingDirectory, environment }) {
          const [program, ...args] = ['nsenter', '--target', String(namespace.pid), '--net', '--', ...command];
          const child = spawn(program!, args, {
            cwd: workingDirectory,
            env: { ...environment, PATH: process.env.PATH ?? '' },
          });
          const ended = once(child, 'close').then(async ([code]) => {
            await namespace.end();
            return typeof code === 'number' ? code : 137;
          });
          const { stdin, stdout, stderr } = child;
          return {
            ended,
            signal: (signal) => void child.kill(signal),
            kill: () => void child.kill('SIGKILL'),
            streams: { stdin, stdout, stderr },
            exec: () => Promise.reject(new Error('it takes no further commands')),
          };
        },
      };
    },
  };
}
