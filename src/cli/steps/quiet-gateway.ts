// The gateway of a proof or a demonstration: in this process, with a state directory that is thrown away, no door but those
// of its sandboxes, and nothing said beside what the command prints.
import type { AdminPorts } from '../../gateway/admin/admin-ports.ts';
import { loadService } from '../../gateway/load-service.ts';
import { registrarOfGateway } from '../../gateway/sandboxes/sandbox-registrar.ts';
import type { SandboxRegistrar } from '../../sandbox/run/start-sandbox.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';

export interface QuietGateway {
  readonly registrar: SandboxRegistrar;
  readonly admin: AdminPorts;
  stop(): Promise<void>;
}

export async function startQuietGateway(home: string, config: string): Promise<QuietGateway> {
  const start = await loadService();
  const { createLog } = await import('../../kit/text/log.ts');
  const gateway = await start({ home, config, doors: 'sandboxes', log: createLog({ level: 'silent' }) });
  return { registrar: registrarOfGateway(gateway.admin), admin: gateway.admin, stop: gateway.stop };
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
