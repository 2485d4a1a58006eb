// Which configuration is followed: one order for every command, the gateway and the library. Reads none, so that whoever only
// wants to know which one it is does not load all that compiles a policy.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isStandInConfig, placesToLook } from './config-places.ts';

export interface ConfigPlaces {
  /** `--config`. */
  readonly flag?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
}

/**
 * The file to read, by the contract's order; null: none, use the embedded default. A file that was named explicitly
 * is returned even when it is not there, so that a typing mistake is an error and not a silent default.
 */
export function findConfigFile(places: ConfigPlaces): string | null {
  if (places.flag) return resolve(places.cwd, places.flag);
  if (places.env.SALLYPORT_CONFIG) return resolve(places.cwd, places.env.SALLYPORT_CONFIG);
  return placesToLook(places).find((path) => existsSync(path) && !isStandInConfig(path)) ?? null;
}
