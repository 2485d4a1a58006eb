// Which changes of its configuration file a gateway follows: those of its user. One that a sandbox may have written stays out
// of force until the user has said that it is theirs, and the operator hears why. // Guards: threats.md T36
import { isAbsolute } from 'node:path';
import type { Log } from '../../kit/text/log.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { ConfigInDoubt } from '../../policy/load/config-in-doubt.ts';
import { refuseDoubtful } from '../../sandbox/traps/written-folders.ts';
import type { StartOptions } from '../contract.ts';

/** What is returned throws a ConfigInDoubt. `file` null, or no path: nothing that a sandbox could write. */
export function followOnlyTheUsers(
  { home, startersHome = home }: Pick<StartOptions, 'home' | 'startersHome'>,
  file: string | null,
): () => void {
  return () => {
    if (file !== null && isAbsolute(file)) refuseDoubtful(startersHome, file);
  };
}

/** For whoever watches the file. The same doubt is told once: a sandbox that goes on writing must not fill the log. */
export function reportReloads(log: Log, policy: () => CompiledPolicy): (error: Error | null) => void {
  let told: string | null = null;
  return (error) => {
    const isTold = error !== null && error.message === told;
    told = error instanceof ConfigInDoubt ? error.message : null;
    if (isTold) return;
    if (error === null) log.info('the configuration has changed and is in force', { config: policy().origin });
    else if (error instanceof ConfigInDoubt)
      log.error(`the configuration is not followed, and the old one stays in force: ${error.message}`);
    else log.error('the configuration has changed but is not valid: the old one stays in force', { error });
  };
}
