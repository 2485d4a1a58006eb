// What `sallyport up` knows of the service: how to start one, what it then says of itself, how to reload and stop it.
// Types only, so that the command can be tested without a gateway.

import type { Log } from '../kit/text/log.ts';
import type { CompiledPolicy, ListenSettings } from '../policy/compiled.ts';
import type { AdminPorts, LiveControl } from './admin/admin-ports.ts';
import type { GatewayKind } from './admin/join.ts';

export interface StartSummary {
  readonly doors: readonly string[];
  readonly adminSocket: string;
  readonly caPath: string;
  /** The configuration in force: its file, or `embedded default`. */
  readonly config: string;
  readonly controls: readonly LiveControl[];
  readonly rules: number;
  readonly credentials: readonly StartCredential[];
  readonly warnings: readonly string[];
  /** Opens the dashboard, once; null: none is served. Not for a log. */
  readonly dashboard: string | null;
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
  readonly admin: AdminPorts;
  /** Reads the configuration again. Rejects when it is bad; the old one then stays in force. */
  reload(): Promise<void>;
  /** Lets open requests finish, then ends. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** `--config`; absent: looked for as the contract says; null: the embedded default. */
  readonly config?: string | null | undefined;
  /** A policy that is no file, as the text of one, in place of `config`: read at the start and at every reload. */
  readonly document?: () => string;
  /** The process is another program's: its memory, its variables and its signals stay as they are. */
  readonly guest?: boolean;
  readonly home: string;
  /** The state directory of those who start sandboxes: it knows where these can write. Default: `home`. */
  readonly startersHome?: string;
  /** Default: standard error. */
  readonly log?: Log;
  /** `sandboxes`: no door but those of the sandboxes that are registered with a namespace. Default: as configured. */
  readonly doors?: 'configured' | 'sandboxes';
  /** Throws at a configuration that is valid and still must not come into force, at the start or later. */
  readonly judge?: (policy: CompiledPolicy) => void;
  /** Doors that stand in for those of the configuration. */
  readonly listen?: Partial<ListenSettings>;
  /** The dashboard is served on a free port of loopback where the configuration names none. */
  readonly dashboard?: boolean;
  /** Where the CA certificate and a bundle with it are put for sandboxes to read. */
  readonly publish?: string;
  /** Credentials without a source are looked for where the user's own tools keep their keys. */
  readonly userKeys?: boolean;
  /** How it was started, for those who join it. Default: `up`. */
  readonly kind?: GatewayKind;
  /** Hears how many runs have joined it, whenever one comes or goes. */
  readonly onLeases?: (open: number) => void;
  /** A socket that listens already takes the place of the admin socket: its descriptor. */
  readonly listenOn?: number | undefined;
  /**
   * The script that is a worker when it is started with the argument `worker`: with it, `listen.workers` is followed. Absent:
   * this process does everything itself.
   */
  readonly workerEntry?: string;
}

export type StartGateway = (options: StartOptions) => Promise<Gateway>;
