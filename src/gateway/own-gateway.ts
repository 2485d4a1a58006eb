// A gateway that no command line names: no door but those of its own sandboxes. It takes the usual state directory, so that
// `sallyport logs` and the rest find it; where another gateway has that, the first of its neighbours that is free.
import { appendFileSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { gatewayHome } from '../kit/files/gateway-homes.ts';
import { placesIn } from '../kit/files/home.ts';
import { HomeInUse } from '../kit/files/home-in-use.ts';
import { ensurePrivateDirectory } from '../kit/files/secure-directory.ts';
import { createLog, type Log } from '../kit/text/log.ts';
import type { Gateway, StartOptions } from './contract.ts';
import { loadService } from './load-service.ts';

export interface OwnGateway extends Gateway {
  /** Its state directory. */
  readonly home: string;
}

type OwnOptions = Pick<
  StartOptions,
  'home' | 'config' | 'userKeys' | 'dashboard' | 'document' | 'guest' | 'log' | 'kind' | 'onLeases' | 'listenOn'
>;

const maxGateways = 1_000;
const maxLogBytes = 1024 * 1024;

/** `taken` hears of every place that another gateway has, and may end the search by throwing. */
export async function startOwnGateway(
  options: OwnOptions,
  taken: (home: string) => Promise<'again' | 'next'> = async () => 'next',
): Promise<OwnGateway> {
  const start = await loadService();
  for (let n = 1; ; ) {
    const home = gatewayHome(options.home, n);
    if (n > 1) ensurePrivateDirectory(dirname(home));
    try {
      const log = options.log ?? logInto(home);
      const gateway = await start({ ...options, home, startersHome: options.home, doors: 'sandboxes', log });
      return { ...gateway, home };
    } catch (error) {
      if (!(error instanceof HomeInUse) || n === maxGateways) throw error;
      if ((await taken(home)) === 'next') n++;
    }
  }
}

/** Not on the terminal, which belongs to the command in the sandbox. What is older than the last start may go. */
function logInto(home: string): Log {
  const { logFile } = placesIn(home);
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size > maxLogBytes) renameSync(logFile, `${logFile}.1`);
  return createLog({ format: 'json', write: (line) => appendFileSync(logFile, line, { mode: 0o600 }) });
}
