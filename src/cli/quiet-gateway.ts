// The gateway of a proof or a demonstration: in this process, with a state directory that is thrown away, no door but those
// of its sandboxes, and nothing said beside what the command prints.
import type { AdminPorts } from '../admin/admin-ports.ts';
import type { SandboxDesk } from '../launch/start-sandbox.ts';
import { CommandFailed, exitCode } from './exit-code.ts';
import { loadService } from './load-service.ts';
import { deskOfGateway } from './sandbox-desk.ts';

export interface QuietGateway {
  readonly desk: SandboxDesk;
  readonly admin: AdminPorts;
  stop(): Promise<void>;
}

export async function startQuietGateway(home: string, config: string): Promise<QuietGateway> {
  const start = await loadService();
  const { createLog } = await import('../kit/log.ts');
  const gateway = await start({ home, config, doors: 'sandboxes', log: createLog({ level: 'silent' }) });
  return { desk: deskOfGateway(gateway.desk), admin: gateway.desk, stop: gateway.stop };
}

/** For a proof that starts one gateway and asks it afterwards what it wrote down. */
export function rememberGateway(): { start: typeof startQuietGateway; admin(): AdminPorts } {
  let started: QuietGateway | null = null;
  return {
    async start(home, config) {
      started = await startQuietGateway(home, config);
      return started;
    },
    admin() {
      if (started === null) throw new Error('no gateway was started');
      return started.admin;
    },
  };
}

/** Aborted by the signals that ask a command to end; `forget` when it is over. */
export function interruption(): { readonly signal: AbortSignal; forget(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new CommandFailed(exitCode.failure, 'interrupted'));
  const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.once(signal, abort);
  return {
    signal: controller.signal,
    forget: () => {
      for (const signal of signals) process.removeListener(signal, abort);
    },
  };
}
