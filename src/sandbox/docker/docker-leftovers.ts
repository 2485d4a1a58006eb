// Finds containers that a killed launcher left behind: every container names its launcher in a label. Never touches a
// container whose launcher may still live, nor one without our label and name.
// Guards: threats.md T100
import { readFileSync, readlinkSync } from 'node:fs';
import { createDockerCommand, type DockerCommand, type DockerOptions } from './docker-command.ts';

const labelName = 'sallyport.launcher';
/** A container has the labels of its image too, which may come from a sandbox that somebody saved. Its name has nobody's. */
const ownName = /^sallyport-[0-9a-f]{16}(?:-command)?$/;

/** A process for ever: its number alone is given to another after it ended, or after the next boot. */
export interface ProcessIdentity {
  readonly boot: string;
  /** The pid namespace in which the number counts: a launcher in a container has numbers of its own. */
  readonly space: string;
  readonly pid: number;
  readonly startedAt: string;
}

export function launcherLabel(): string {
  const { boot, space, pid, startedAt } = thisProcess();
  return `${labelName}=${boot}/${space}/${pid}/${startedAt}`;
}

/** Removes the containers of launchers that are gone; returns their names. */
export async function cleanDockerLeftovers(options: DockerOptions): Promise<readonly string[]> {
  return await removeLeftovers(createDockerCommand(options));
}

export async function removeLeftovers(docker: DockerCommand): Promise<readonly string[]> {
  const format = `{{.Names}} {{.Label "${labelName}"}}`;
  const listed = await docker.run(['ps', '--all', '--filter', `label=${labelName}`, '--format', format]);
  const self = thisProcess();
  const dead = listed.split('\n').flatMap((line) => {
    const [name, label] = line.split(' ');
    return name && label && isLeftover(name, label, self) ? [name] : [];
  });
  // One that another start is removing too, or that --rm just took, is as good as removed.
  if (dead.length > 0) await docker.run(['rm', '--force', '--volumes', '--', ...dead]).catch(() => '');
  return dead;
}

/** A launcher of ours named it, and is gone. */
export function isLeftover(name: string, label: string, self: ProcessIdentity): boolean {
  return ownName.test(name) && isGone(label, self);
}

/** Only what is certain: a label that cannot be read, or one of another pid namespace, is left alone. */
export function isGone(
  label: string,
  self: ProcessIdentity,
  startOf: (pid: number) => string | null = processStart,
): boolean {
  const [boot, space, pid, startedAt, ...rest] = label.split('/');
  if (!boot || !space || !startedAt || rest.length > 0 || !/^\d+$/.test(pid ?? '')) return false;
  if (boot !== self.boot) return true;
  return space === self.space && startOf(Number(pid)) !== startedAt;
}

function thisProcess(): ProcessIdentity {
  const startedAt = processStart(process.pid);
  if (startedAt === null) throw new Error('/proc does not show this process: it must be mounted');
  return {
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    space: readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''),
    pid: process.pid,
    startedAt,
  };
}

/** In clock ticks since the boot; null: there is no such process. */
function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before it may hold anything, a closing bracket too. Fields 3 and 22, counted from 1.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
