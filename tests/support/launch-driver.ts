// A launcher in a process of its own, for the tests that run it as another user, kill it, or give it a terminal. Started by
// launch-ground.ts with one JSON argument. Says how far it has come on descriptor 3, as lines.
import { readlinkSync, writeSync } from 'node:fs';
import { createBubblewrapLauncher } from '../../src/sandbox/namespace/bubblewrap.ts';
import { findTool } from '../../src/sandbox/namespace/find-tool.ts';
import { createNamespacesLauncher } from '../../src/sandbox/namespace/namespaces.ts';
import { closeNamespaceHandles, openNamespaceDoor } from '../../src/sandbox/namespace/open-namespace-door.ts';
import { createPlainUnshareLauncher } from '../../src/sandbox/namespace/plain-unshare.ts';
import { findLauncher } from '../../src/sandbox/run/find-launcher.ts';
import type { Launcher, LauncherName, SandboxPlan, SandboxStdio } from '../../src/sandbox/run/sandbox-plan.ts';

export interface DriverOrder {
  readonly launcher: LauncherName;
  readonly stdio: SandboxStdio;
  readonly plan: SandboxPlan;
  /** Wait here for ever, to be killed. */
  readonly stopAt?: 'prepared';
  /** A program in place of bwrap; of mount with plain unshare, of node with namespaces. */
  readonly standIn?: string;
  /** The door is opened first, as it is in a real run: every address becomes local. */
  readonly door?: boolean;
  /** Called as soon as the command starts. */
  readonly onceStarted?: { readonly signal: NodeJS.Signals } | 'kill';
}

const order = JSON.parse(process.argv[2]!) as DriverOrder;
const tell = (fact: Record<string, unknown>): void => {
  writeSync(3, `${JSON.stringify(fact)}\n`);
};

try {
  const began = performance.now();
  const launcher =
    order.standIn === undefined
      ? await findLauncher({ wanted: order.launcher, environment: process.env })
      : withStandIn(order.launcher, order.standIn);
  const prepared = await launcher.prepare(order.stdio);
  const preparedMs = performance.now() - began;
  const namespace = readlinkSync(`/proc/${prepared.pid}/ns/net`);
  tell({ prepared: prepared.pid, namespace, preparedMs, notice: launcher.notice });
  if (order.stopAt === 'prepared') await new Promise(() => setInterval(() => {}, 1_000));
  if (order.door === true) closeNamespaceHandles(await openNamespaceDoor({ pid: prepared.pid, ports: [] }));
  // Before it starts: a key pressed in its first moment is the command's, and must not end us.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {});
  const running = await prepared.start(order.plan);
  tell({ started: true, startedMs: performance.now() - began - preparedMs });
  process.on('SIGTERM', () => running.signal('SIGTERM'));
  if (running.streams !== null) {
    process.stdin.pipe(running.streams.stdin);
    running.streams.stdout.pipe(process.stdout);
    running.streams.stderr.pipe(process.stderr);
  }
  if (order.onceStarted === 'kill') running.kill();
  else if (order.onceStarted !== undefined) running.signal(order.onceStarted.signal);
  const code = await running.ended;
  tell({ ended: code });
  process.stdin.destroy();
  process.exitCode = code;
} catch (error) {
  tell({ failed: (error as Error).message, hint: (error as { hint?: string }).hint });
  process.exitCode = 125;
}

function withStandIn(launcher: LauncherName, program: string): Launcher {
  if (launcher === 'namespaces') return createNamespacesLauncher(undefined, program);
  const find = (name: string) => (name === 'bwrap' || name === 'mount' ? program : findTool(name));
  return launcher === 'unshare'
    ? createPlainUnshareLauncher(process.getuid?.(), undefined, find)
    : createBubblewrapLauncher(find);
}
