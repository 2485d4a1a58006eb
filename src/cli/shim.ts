// `sallyport shim`: the sidecar of a sandbox on another host or network. Starts it, says when it is ready, and stays until a
// signal. What it does is in src/sandbox/shim/, loaded only when it is asked for.
import type { Command } from 'commander';
import type { RunningShim } from '../sandbox/shim/start-shim.ts';
import type { CliContext } from './cli-context.ts';
import { gather } from './steps/rights-options.ts';
import { CommandFailed, exitCode } from './terminal/exit-code.ts';
import { printable } from './terminal/printable.ts';
import { printJson, wantsJson } from './terminal/wants-json.ts';

interface ShimCommandOptions {
  readonly gateway: string;
  readonly identity: string;
  readonly listen: string;
  readonly forUid: string[];
}

export function addShimCommand(program: Command, context: CliContext): void {
  program
    .command('shim')
    .summary("hold a sandbox's key as another uid, and connect it to the mTLS door")
    .description(
      "Runs beside a sandbox as a uid that the agent does not have. It holds the sandbox's key, serves the uids you name, and passes their connections to the gateway's mTLS door. It renews the certificate by itself.",
    )
    .requiredOption('--gateway <HOST:PORT>', 'the mTLS door of the gateway (listen.mtls)')
    .requiredOption(
      '--identity <DIR>',
      'folder with certificate.pem, key.pem and ca.pem, as `register --proof mtls` gave them',
    )
    .requiredOption('--for-uid <UID>', 'a uid that is served; may be repeated', gather)
    .option('--listen <PLACE>', 'a loopback address, or unix:/path', '127.0.0.1:3128')
    .addHelpText(
      'after',
      `
Signals:
  SIGTERM, SIGINT   takes no new connections, gives open ones 10 seconds; a second one ends at once

Examples:
  setpriv --reuid=10003 --regid=10003 --clear-groups \\
    sallyport shim --gateway gateway.example:8443 --identity /run/identity --for-uid 10002
  sallyport shim --gateway 192.0.2.7:8443 --identity /run/identity --for-uid 10002 --listen unix:/run/sallyport/shim.sock

In the sandbox:
  export HTTPS_PROXY=http://127.0.0.1:3128 HTTP_PROXY=http://127.0.0.1:3128`,
    )
    .action(async (options: ShimCommandOptions, command: Command) => {
      const shim = await start(options);
      if (wantsJson(command)) {
        const { sandbox, listen, gateway, expiresAt } = shim;
        printJson(context, { sandbox, listen, gateway, expires_at: expiresAt });
      } else context.print(describeShim(shim));
      await serveUntilSignal(shim, context);
    });
}

export function describeShim({ sandbox, listen, gateway, expiresAt }: Omit<RunningShim, 'stop'>): string {
  return printable(`shim for sandbox ${sandbox}: ${listen} -> ${gateway}, certificate until ${expiresAt}`);
}

async function start(options: ShimCommandOptions): Promise<RunningShim> {
  const [{ startShim }, { createLog }] = await Promise.all([
    import('../sandbox/shim/start-shim.ts'),
    import('../kit/text/log.ts'),
  ]);
  try {
    return await startShim({ ...options, log: createLog() });
  } catch (error) {
    // By its name, as importing the class would load what is loaded late.
    if (!(error instanceof Error) || error.name !== 'ShimRefused') throw error;
    const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
    throw new CommandFailed(exitCode.usage, error.message, hint);
  }
}

function serveUntilSignal(shim: Pick<RunningShim, 'stop'>, context: Pick<CliContext, 'say'>): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    const stop = (): void => {
      if (stopping) process.exit(130);
      stopping = true;
      context.say('Letting open connections finish … (once more ends at once)');
      shim.stop().then(resolve, reject);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
