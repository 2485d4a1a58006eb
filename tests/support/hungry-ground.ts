// A gateway in a process of its own with little memory, a git server behind it, and what a push did to it: how long it did
// not answer others, how large it became, and whether it is still there.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGitUpstream } from './git-upstream.ts';
import { githubToken } from './push-ground.ts';
import { type Command, pushOf, sendPush, zeroId } from './raw-push.ts';
import { settle } from './settle.ts';
import { buildCommand, type RunningGateway } from './spawn-gateway.ts';
import { makeTestCa } from './test-ca.ts';
import { callAdmin } from './test-gateway.ts';

const mib = 1024 ** 2;

export interface Toll {
  readonly code: string | null;
  readonly text: string;
  /** The longest time in which the gateway answered nobody. */
  readonly stallMs: number;
  /** The longest that a timer of our own was late meanwhile: that is the machine, not the gateway. */
  readonly machineMs: number;
  readonly peakMib: number;
  readonly cpuMs: number;
  readonly isAlive: boolean;
}

export async function openHungryGround(heapMib: number, policy: Record<string, unknown> = {}) {
  const ca = makeTestCa();
  const upstream = await startGitUpstream(ca, { 'github.com': `x-access-token:${githubToken}` });
  const command = buildCommand({
    allow: [{ preset: 'github' }],
    policy: { protected_paths: ['**/CODEOWNERS'], ...policy },
    limits: { pushes_per_minute: 0 },
    upstream: { resolve: { 'github.com': upstream.address }, ca: ca.path },
  });
  const socket = `${command.home}/state/run/admin.sock`;
  const start = async (): Promise<RunningGateway> => {
    const running = await command.up(['env', `NODE_OPTIONS=--max-old-space-size=${heapMib}`]);
    const registration = { container_ip: '127.0.0.1', repos: ['acme/*'], auth_mode: 'user' };
    await callAdmin(socket, 'POST', '/internal/containers', registration);
    await callAdmin(socket, 'PUT', '/internal/credentials/github', githubToken);
    return running;
  };
  let gateway = await start();
  const isAlive = (): boolean => gateway.child.exitCode === null && gateway.child.signalCode === null;
  const bare = await upstream.create('acme/r1');
  const main = await bare.commit({ branch: 'main', files: { 'README.md': 'one\n', CODEOWNERS: '* @a\n' } });

  /** What the whole of it used so far, `env` in front having become the gateway. */
  const status = (key: string): number =>
    Number(new RegExp(`${key}:\\s+(\\d+)`).exec(procFile(gateway.child.pid!, 'status'))?.[1]);
  const cpuMs = (): number => {
    const fields = procFile(gateway.child.pid!, 'stat').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  };

  async function push(tip: string, pack: Buffer, ref = 'refs/heads/sly', oldId = zeroId): Promise<Toll> {
    const commands: Command[] = [[oldId, tip, ref]];
    return pushBody(pushOf(commands, pack));
  }

  async function pushBody(body: Buffer, more: readonly string[] = []): Promise<Toll> {
    // What an earlier push did to it is that one's failure.
    if (!isAlive()) gateway = await start();
    upstream.forget();
    const cpuBefore = cpuMs();
    let stallMs = 0;
    let machineMs = 0;
    let ended = false;
    const watching = (async () => {
      while (!ended && isAlive()) {
        const began = performance.now();
        await callAdmin(socket, 'GET', '/internal/containers').catch(() => null);
        stallMs = Math.max(stallMs, performance.now() - began);
        const asleep = performance.now();
        await new Promise((resolve) => setTimeout(resolve, 10));
        machineMs = Math.max(machineMs, performance.now() - asleep - 10);
      }
    })();
    const answer = await sendPush({ gateway } as never, { name: 'acme/r1' }, body, { waitMs: 100_000, more }).catch(
      (error: Error) => ({ code: null, text: String(error) }),
    );
    ended = true;
    await watching;
    await settle(50);
    const alive = isAlive();
    return {
      code: answer.code,
      text: answer.text,
      stallMs,
      machineMs,
      peakMib: alive ? (status('VmHWM') * 1024) / mib : Number.NaN,
      cpuMs: alive ? cpuMs() - cpuBefore : Number.NaN,
      isAlive: alive,
    };
  }

  /** Another life of it, in which the sandbox has all of its share again. */
  async function restart(): Promise<void> {
    gateway.kill('SIGKILL');
    await gateway.ended;
    gateway = await start();
  }

  return {
    upstream,
    bare,
    restart,
    main,
    push,
    pushBody,
    spooled: () => readdirSync(join(command.home, 'state', 'spool')),
    async stop() {
      gateway.kill('SIGKILL');
      await gateway.ended;
      await upstream.close();
      command.remove();
    },
  };
}

function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
