// `sallyport docker-view`: a read-only view of Docker's API on a socket of its own, for a gateway that runs in a container.
// It holds the Docker socket so that the gateway need not; it starts nothing and changes nothing.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { DockerApi } from '../kit/docker/docker-api.ts';
import { createDockerView } from '../kit/docker/docker-view.ts';
import { listenOnUnixSocket } from '../kit/process/unix-listen.ts';
import { createLog } from '../kit/text/log.ts';
import type { CliContext } from './cli-context.ts';
import { printable } from './terminal/printable.ts';

interface ViewOptions {
  readonly listen: string;
  readonly docker: string;
}

/** Whoever is in the group of this process may ask. */
const socketMode = 0o660;

export function addDockerViewCommand(program: Command, context: CliContext): void {
  program
    .command('docker-view')
    .summary('a read-only view of Docker for a gateway in a container')
    .description(
      'Serves the few questions about containers that the gateway asks, and nothing else, on a Unix socket of its own.',
    )
    .requiredOption('--listen <PATH>', 'the socket to serve on; open to its owner and its group')
    .option('--docker <SOCKET>', 'the Docker socket', '/var/run/docker.sock')
    .addHelpText(
      'after',
      `
Give the gateway this socket (docker.socket in sallyport.yaml) in place of Docker's: with Docker's own it would be root on
the host. Environments, mounts and commands of containers are never shown.

Examples:
  sallyport docker-view --listen /run/sallyport-docker/view.sock`,
    )
    .action(async (options: ViewOptions) => {
      const log = createLog();
      const api = new DockerApi(resolve(context.cwd, options.docker));
      const view = createDockerView(api, (error) => log.warn('a question could not be answered', { error }));
      const path = resolve(context.cwd, options.listen);
      await listenOnUnixSocket(view, path, { occupant: 'a view of Docker', mode: socketMode });
      context.say(`A read-only view of ${printable(api.socket)} is on ${printable(path)}.`);
      await untilSignal();
      view.close();
      view.closeAllConnections();
    });
}

function untilSignal(): Promise<void> {
  return new Promise((done) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => done());
  });
}
