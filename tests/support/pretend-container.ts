// What looks like a container with `--network none`, made without Docker: a process in network and mount namespaces of its
// own, over whose /etc/hostname a file from a folder with the container's id is bound, as a container runtime does it.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientRun, runClient } from './run-client.ts';

export interface PretendContainer {
  readonly id: string;
  readonly pid: number;
  /** A program of this machine in its network. */
  run(command: readonly string[]): Promise<ClientRun>;
  /** The same process goes on in another network, as one may that was given too much. */
  moveAway(): Promise<void>;
  end(): Promise<void>;
}

/** `also`: more to do inside, a shell command. */
export async function makePretendContainer(also = ':'): Promise<PretendContainer> {
  const id = randomBytes(32).toString('hex');
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-pretend-'));
  const hostname = join(folder, 'containers', id, 'hostname');
  mkdirSync(join(folder, 'containers', id), { recursive: true });
  writeFileSync(hostname, 'pretend\n');
  const script = `mount --bind "$1" /etc/hostname && ${also} && echo ready && read -r go && exec unshare --net sh -c 'echo moved; exec cat'`;
  // It ends with its input, so with this process, whatever becomes of that.
  const holder = spawn('unshare', ['--net', '--mount', 'sh', '-c', script, 'sh', hostname], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  holder.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk;
  });
  const ended = once(holder, 'exit');
  const isReady = await Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!isReady) throw new Error(`no container could be pretended: ${complaint}`);
  return {
    id,
    pid: holder.pid!,
    run: (command) => runClient('nsenter', ['--target', String(holder.pid), '--net', '--', ...command]),
    async moveAway() {
      const moved = once(holder.stdout, 'data');
      holder.stdin.write('go\n');
      await moved;
    },
    async end() {
      holder.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
