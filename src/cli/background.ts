// `sallyport background`: the gateway that `sallyport run` starts beside itself, and that the service keeps warm. Not for
// people. Started by a run it ends with the last run that has joined it, however that one went.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type BackgroundMessage, whoAnswersAt } from '../gateway/join-gateway.ts';
import { startOwnGateway } from '../gateway/own-gateway.ts';
import { clearOldRuns } from '../kit/files/gateway-homes.ts';
import { createLog } from '../kit/text/log.ts';
import type { CliContext } from './cli-context.ts';
import { judgeError } from './terminal/exit-code.ts';
import { systemSentence } from './terminal/system-error.ts';

interface BackgroundOptions {
  readonly config?: string;
  readonly builtIn?: boolean;
  readonly service?: boolean;
}

/** Whoever has started it joins at once, or is gone. */
const firstJoinMs = 10_000;
/** A gateway that is about to end, or to begin, answers nobody for a moment. */
const betweenMs = 10_000;

export function addBackgroundCommand(program: Command, context: CliContext): void {
  program
    .command('background', { hidden: true })
    .option('--config <FILE>')
    .option('--built-in')
    .option('--service')
    .action(async (options: BackgroundOptions) => {
      // Who has started it may be gone by the time that it is told something.
      process.on('error', () => {});
      let ended = false;
      try {
        ended = await keepGateway(context, options);
      } catch (error) {
        const system = systemSentence(error, context.places.home);
        // What a policy has wrong is put into words once, by whoever is told.
        const isPolicy = error instanceof Error && error.name === 'PolicyRejected';
        const { message, hint } = system ?? (isPolicy ? { message: error.message, hint: '' } : judgeError(error));
        // What the system refuses keeps the sandbox of that run from starting, and is told as that.
        const name = system !== null ? 'LaunchError' : error instanceof Error ? error.name : 'Error';
        if (!(await tell({ failed: { name, message, hint } }))) throw error;
        process.exit(1);
      }
      // Not before: those who wait for this end wait for what was written down.
      if (ended) process.exit(0);
    });
}

/** Resolves when it has ended in order. */
async function keepGateway(context: CliContext, options: BackgroundOptions): Promise<boolean> {
  const { home } = context.places;
  clearOldRuns(home);
  const isService = options.service === true;
  const config = options.builtIn === true ? null : options.config;
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const asked = { config: config ?? null, env: { ...process.env }, writable: [], any: false };
  const until = performance.now() + betweenMs;
  let elsewhere: string | null = null;
  const taken = async (place: string): Promise<'again' | 'next'> => {
    // At the socket that systemd has opened answers nobody but this process, later.
    const answers = isService ? 'nobody' : await whoAnswersAt(place, asked);
    if (answers === 'fits') {
      // Another run was quicker to start the very same.
      elsewhere = place;
      throw new Error('another gateway serves');
    }
    const isLate = performance.now() > until;
    if (isService && isLate) throw new Error(`another gateway has ${place}`);
    if (answers !== 'nobody' || isLate) return 'next';
    await sleep(20);
    return 'again';
  };
  let first: NodeJS.Timeout | undefined;
  const listenOn = socketOfSystemd(process.env);
  try {
    const gateway = await startOwnGateway(
      {
        home,
        userKeys: true,
        kind: isService ? 'service' : 'run',
        onLeases: (open) => {
          clearTimeout(first);
          if (!isService && open === 0) end();
        },
        ...(config !== undefined && { config }),
        // Its journal is systemd's.
        ...(isService && { log: createLog() }),
        ...(listenOn !== null && { listenOn }),
      },
      taken,
    );
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end);
    process.on('SIGHUP', () => void gateway.reload().catch(() => {}));
    if (!isService) first = setTimeout(end, firstJoinMs);
    await tell({ home: gateway.home });
    await over;
    await gateway.stop();
  } catch (error) {
    if (elsewhere === null) throw error;
    await tell({ home: elsewhere });
  }
  return true;
}

/** False: there is nobody to tell. */
function tell(message: BackgroundMessage): Promise<boolean> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve(false);
    process.send(message, undefined, undefined, () => {
      if (process.connected) process.disconnect();
      resolve(true);
    });
  });
}

/** sd_listen_fds(3): descriptors from 3 on, for the process that is named and no child of it. */
function socketOfSystemd(env: NodeJS.ProcessEnv): number | null {
  const isOurs = env.LISTEN_PID === String(process.pid) && env.LISTEN_FDS === '1';
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete env[name];
  return isOurs ? 3 : null;
}
