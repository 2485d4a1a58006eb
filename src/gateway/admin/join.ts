// What a `run` and a gateway that lives already say to each other before the one joins the other. The run says which gateway it
// would start itself; the other compares. Values of variables are never sent: only what they come to under a key made for this.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packageVersion } from '../../kit/files/package-version.ts';

/** `run`: started by one, it ends with the last that has joined it. */
export type GatewayKind = 'up' | 'service' | 'run';

export interface JoinRequest {
  readonly version: string;
  /** The file that the run's own gateway would follow; null: the embedded default. */
  readonly config: string | null;
  /** SHA-256 of what is in it; null: it cannot be read, or there is none. */
  readonly document: string | null;
  readonly key: string;
  /** By name, what each variable of the run comes to under `key`. */
  readonly variables: Readonly<Record<string, string>>;
  /** Folders that its sandbox can write to: no program of the gateway may come from there. */
  readonly writable: readonly string[];
  /** Whatever it follows: its user has asked for this gateway. */
  readonly any: boolean;
  /** Only asks whether it may. */
  readonly probe: boolean;
}

export type JoinAnswer =
  | {
      readonly joined: true;
      readonly kind: GatewayKind;
      readonly pid: number;
      /** Its state directory. */
      readonly home: string;
      /** The configuration in force: its file, or `embedded default`. */
      readonly config: string;
    }
  | {
      readonly joined: false;
      readonly kind: GatewayKind;
      readonly pid: number;
      readonly why: string;
      /** Its place is free in a moment. */
      readonly ending: boolean;
    };

export interface Starter {
  readonly config: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly writable: readonly string[];
  readonly any: boolean;
}

export function makeJoinRequest({ config, env, writable, any }: Starter, probe = false): JoinRequest {
  const key = randomBytes(16).toString('hex');
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, digestOf(key, name, value)] as const],
  );
  return {
    version: packageVersion(),
    config,
    document: config === null ? null : documentIn(config),
    key,
    variables: Object.fromEntries(variables),
    writable,
    any,
    probe,
  };
}

export function digestOf(key: string, name: string, value: string): string {
  return createHmac('sha256', key).update(`${name}=${value}`).digest('base64');
}

export function documentDigest(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function documentIn(path: string): string | null {
  try {
    return documentDigest(readFileSync(path, 'utf8'));
  } catch {
    // The gateway that reads it says what is wrong.
    return null;
  }
}
