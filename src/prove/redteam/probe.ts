// What the attacker inside the sandbox can be told to do, and what it says came of it. Plain data, because it crosses the
// wall of the sandbox as lines of JSON. Types only: what an attempt means is judged outside, never by the attacker.

/** How far a connection goes before anything is said on it. */
export interface Way {
  /** A name (looked up inside) or an address. */
  readonly host: string;
  readonly port: number;
  /** CONNECT for this authority is sent first; what comes next goes through it. */
  readonly connect?: string;
  /** Left out: no TLS. */
  readonly tls?: {
    /** Name in the hello; null: none. */
    readonly name: string | null;
    /** PEM of the only root to trust; left out: what the sandbox trusts. */
    readonly ca?: string;
    /** False: any certificate will do. */
    readonly verify?: boolean;
  };
}

export type Probe =
  | { readonly do: 'read' | 'list' | 'readlink' | 'remove'; readonly path: string }
  | { readonly do: 'open'; readonly path: string; readonly flags: string }
  | { readonly do: 'write'; readonly path: string; readonly text: string }
  | { readonly do: 'symlink'; readonly path: string; readonly to: string }
  /** Environments of every process that can be seen, as `pid NAME=VALUE` lines. */
  | { readonly do: 'environments' }
  /** Every file below the folders that holds a planted secret, as `path: value` lines, and how many were looked at. */
  | { readonly do: 'search'; readonly roots: readonly string[]; readonly pattern: string }
  | { readonly do: 'signal'; readonly pid: number; readonly signal: number }
  /** Connects to a Unix socket, an abstract one when it begins with a zero byte. */
  | { readonly do: 'unix'; readonly path: string }
  | { readonly do: 'listen'; readonly host: string; readonly port: number }
  /** Listens there and connects to itself. */
  | { readonly do: 'listen-unix'; readonly path: string }
  | { readonly do: 'connect'; readonly host: string; readonly port: number }
  | { readonly do: 'datagram'; readonly host: string; readonly port: number; readonly hex: string }
  /** Sends bytes (one character each) and gives back what came until the end, or until it is quiet for `quietMs`. */
  | { readonly do: 'send'; readonly way: Way; readonly text: string; readonly quietMs?: number }
  | {
      readonly do: 'http2';
      readonly way: Way;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | {
      readonly do: 'run';
      readonly argv: readonly string[];
      readonly input?: string;
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
    };

/** What came of one probe. */
export interface Observation {
  readonly ok: boolean;
  /** The kernel's word (EPERM, ENOENT…) or the message of what failed; null: nothing did. */
  readonly error: string | null;
  /** What was read, printed or answered: bytes, one character each. */
  readonly text: string;
  /** Of a program: what it ended with. */
  readonly exit: number | null;
}

export type ProbeHandler<Kind extends Probe['do']> = (
  probe: Extract<Probe, { do: Kind }>,
) => Promise<Partial<Observation>>;
export type ProbeHandlers<Kind extends Probe['do']> = { readonly [Each in Kind]: ProbeHandler<Each> };
