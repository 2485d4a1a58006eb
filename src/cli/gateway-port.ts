// What `sallyport up` knows of the service: how to start one, what it then says of itself, how to reload and stop it.
// Types only, so that the command can be tested without a gateway.
import type { AdminPorts, LiveControl } from '../admin/admin-ports.ts';
import type { Log } from '../kit/log.ts';
import type { CompiledPolicy, ListenSettings } from '../policy/compiled.ts';

export interface StartSummary {
  readonly doors: readonly string[];
  readonly adminSocket: string;
  readonly caPath: string;
  /** The configuration in force: its file, or `embedded default`. */
  readonly config: string;
  readonly controls: readonly LiveControl[];
  readonly hosts: number;
  readonly credentials: readonly StartCredential[];
  readonly warnings: readonly string[];
}

export interface StartCredential {
  readonly name: string;
  readonly source: string;
  readonly set: boolean;
  /** Not known yet: its source is asked when a request needs it. */
  readonly unasked?: boolean;
  /** Why it has no value. */
  readonly error?: string | null;
}

export interface Gateway {
  readonly summary: StartSummary;
  /** What the admin socket offers, for the command that holds the gateway. */
  readonly desk: AdminPorts;
  /** Reads the configuration again. Rejects when it is bad; the old one then stays in force. */
  reload(): Promise<void>;
  /** Lets open requests finish, then ends. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** `--config`; absent: looked for as the contract says. */
  readonly config?: string | undefined;
  readonly home: string;
  /** Default: standard error. */
  readonly log?: Log;
  /** `sandboxes`: no door but those of the sandboxes that are registered with a namespace. Default: as configured. */
  readonly doors?: 'configured' | 'sandboxes';
  /** Throws at a configuration that is valid and still must not come into force, at the start or later. */
  readonly judge?: (policy: CompiledPolicy) => void;
  /** Doors that stand in for those of the configuration. */
  readonly listen?: Partial<ListenSettings>;
  /** Where the CA certificate and a bundle with it are put for sandboxes to read. */
  readonly publish?: string;
  /** Credentials without a source are looked for where the user's own tools keep their keys. */
  readonly userKeys?: boolean;
}

export type StartGateway = (options: StartOptions) => Promise<Gateway>;
