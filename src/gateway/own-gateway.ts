// The gateway that lives in one command and ends with it: no door but those of its own sandboxes. It takes the usual state
// directory, so that `sallyport logs` and the rest work beside it; where another gateway has that, one of its own below it.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { placesIn } from '../kit/files/home.ts';
import { HomeInUse } from '../kit/files/home-in-use.ts';
import { ensurePrivateDirectory } from '../kit/files/secure-directory.ts';
import { processBirth } from '../kit/process/process-birth.ts';
import { createLog, type Log } from '../kit/text/log.ts';
import type { Gateway, StartOptions } from './contract.ts';
import { loadService } from './load-service.ts';

export interface OwnGateway extends Gateway {
  /** Its state directory. */
  readonly home: string;
}

let elsewhere = 0;

export async function startOwnGateway(
  options: Pick<StartOptions, 'home' | 'config' | 'userKeys' | 'dashboard' | 'document' | 'guest' | 'log'>,
): Promise<OwnGateway> {
  const start = await loadService();
  const begin = async (home: string): Promise<OwnGateway> => {
    const gateway = await start({
      ...options,
      home,
      startersHome: options.home,
      doors: 'sandboxes',
      log: options.log ?? logInto(home),
    });
    return { ...gateway, home };
  };
  try {
    return await begin(options.home);
  } catch (error) {
    if (!(error instanceof HomeInUse)) throw error;
    const { runsDirectory } = placesIn(options.home);
    ensurePrivateDirectory(runsDirectory);
    // A program that uses the library may have several.
    const which = ++elsewhere === 1 ? '' : `${elsewhere}.`;
    return begin(join(runsDirectory, `${which}${process.pid}-${processBirth(process.pid)}`));
  }
}

/** Not on the terminal, which belongs to the command in the sandbox. */
function logInto(home: string): Log {
  const file = join(home, 'run.log');
  return createLog({ format: 'json', write: (line) => appendFileSync(file, line, { mode: 0o600 }) });
}
