// Holds back a container's command until its mounts were checked, because the daemon finds their sources by name and later.
// The container starts with a shell of this machine, which stops itself and, when released, becomes the command. Nothing from
// the image, and nothing that is mounted from elsewhere, runs before.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { quoteForShell } from '../../kit/text/shell-quote.ts';
import type { SealedMount } from '../files/seal-mounts.ts';
import { verifyMounts } from '../files/verify-mounts.ts';
import { killProcess } from '../namespace/namespace-holder.ts';
import { LaunchError, type Mount, type SandboxPlan } from '../run/sandbox-plan.ts';
import type { DockerCommand } from './docker-command.ts';
import { findHostProgram } from './docker-host-program.ts';

export interface Gate {
  /** Unlike any other's: a name that no mount of somebody else leads to, and by which its process is known. */
  readonly folder: string;
  readonly image: string;
  /** What the image sets. */
  readonly imageEnvironment: Readonly<Record<string, string>>;
}

/** The plan of a container that waits in front of the command of this one. */
export async function gated(plan: SandboxPlan, gate: Gate): Promise<SandboxPlan> {
  const { folder } = gate;
  const [shell, env] = (await Promise.all(['sh', 'env'].map(findHostProgram))).map((found) => found.at(folder));
  if (shell === undefined || env === undefined) throw new Error('a gate is a shell and env');
  const files = new Map([...shell.files, ...env.files].map(({ source, target }) => [target, source]));
  const own = [...files].map(([target, source]): Mount => ({ kind: 'read-only', source, target }));
  const changed = changedByShell(plan, gate);
  const withheld = changed.filter(([name]) => isLoaders.test(name)).map(([name]) => [name, '']);
  const through = changed.length > 0 ? [...env.command, ...changed.map(([name, value]) => `${name}=${value}`)] : [];
  const script = gateScript(gate.image, plan.command[0] ?? '', through);
  return {
    ...plan,
    command: [...shell.command, '-c', script, 'sallyport', ...plan.command],
    environment: { ...plan.environment, ...Object.fromEntries(withheld) },
    mounts: [...plan.mounts, ...own],
  };
}

/** What stands before another command in the same container, for a shell to go before it and the environment to be the plan's. */
export async function gateWords(
  plan: SandboxPlan,
  gate: Gate,
): Promise<{ readonly shell: readonly string[]; readonly through: readonly string[] }> {
  const [shell, env] = await Promise.all(['sh', 'env'].map(findHostProgram));
  const values = changedByShell(plan, gate).map(([name, value]) => `${name}=${value}`);
  return { shell: shell!.at(gate.folder).command, through: [...env!.at(gate.folder).command, ...values] };
}

function changedByShell(plan: SandboxPlan, { imageEnvironment }: Gate): readonly [string, string][] {
  return Object.entries({ ...imageEnvironment, ...plan.environment }).filter(([name]) => isChangedByShell.test(name));
}

/** What a loader does with the image's libraries is for the command, not for a shell that is not of the image. */
const isLoaders = /^(?:LD_|GLIBC_TUNABLES$)/;
/** A shell sets some variables for whatever it starts, and leaves out those whose names are none to it. */
const isChangedByShell = /^(?:LD_.*|GLIBC_TUNABLES|PWD|OLDPWD|SHLVL)$|^[^a-zA-Z_]|[^a-zA-Z0-9_]/;

function gateScript(image: string, program: string, through: readonly string[]): string {
  const end = (code: number, words: string) => `{ echo ${quoteForShell(`sallyport: ${words}`)} >&2; exit ${code}; }`;
  const missing = end(127, `the image ${image} has no program ${program}: name one that it has, or use another image`);
  const closed = end(126, `${program} in the image ${image} may not be run: check its mode and its path`);
  return [
    'sallyport_released=',
    `trap 'sallyport_released=yes' ${releaseSignal}`,
    'kill -STOP $$',
    // Going on is not enough: anything may wake it.
    '[ "$sallyport_released" = yes ] || exit 125',
    `trap - ${releaseSignal}`,
    'unset sallyport_released PWD OLDPWD SHLVL',
    `case $1 in */*) [ -e "$1" ] || ${missing}; [ -f "$1" ] && [ -x "$1" ] || ${closed} ;; esac`,
    `command -v -- "$1" >/dev/null || ${missing}`,
    `exec ${through.map(quoteForShell).join(' ')} "$@"`,
  ].join('\n');
}

const releaseSignal = 'USR1';

export interface HeldContainer {
  readonly name: string;
  /** The folder of its gate. */
  readonly folder: string;
  /** A process in its process namespace. */
  readonly beside: number;
  readonly seals: readonly SealedMount[];
  readonly hasEnded: () => boolean;
}

/** Lets the command go when its mounts are what was judged; throws when they are not. Not when the container ended first. */
export async function openGate(docker: DockerCommand, held: HeldContainer): Promise<void> {
  const deadline = Date.now() + startMs;
  const namespace = readlinkSync(`/proc/${held.beside}/ns/pid`);
  for (;;) {
    if (held.hasEnded()) return;
    const pid = findStopped(namespace, held.folder);
    if (pid !== null) {
      await verifyMounts(pid, held.seals);
      // Somebody else's, where the container has users of its own.
      for (const signal of [`SIG${releaseSignal}`, 'SIGCONT'] as const)
        if (!killProcess(pid, signal)) await docker.run(['kill', '--signal', signal, '--', held.name]);
      return;
    }
    if (Date.now() > deadline)
      throw new LaunchError('the container did not start in time', 'see the log of the Docker daemon');
    await sleep(10);
  }
}

const startMs = 60_000;

/** The shell in front of the command, when it has stopped itself: all mounts are made. */
function findStopped(namespace: string, folder: string): number | null {
  const found = readdirSync('/proc').find((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      if (readlinkSync(`/proc/${name}/ns/pid`) !== namespace) return false;
      return (
        readFileSync(`/proc/${name}/cmdline`, 'utf8').startsWith(`${folder}/`) &&
        /^State:\s*T/m.test(readFileSync(`/proc/${name}/status`, 'utf8'))
      );
    } catch {
      // Gone, or nobody's to look at.
      return false;
    }
  });
  return found === undefined ? null : Number(found);
}
