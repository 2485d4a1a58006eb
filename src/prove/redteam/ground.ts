// What both sides of the wall know about the ground the attacks are made on: who is who, what was planted where, and what the
// outside is able to see. Nothing in it is a secret but the planted ones, which exist to be found.
import type { Bait } from './plant-baits.ts';

/** Another sandbox on the same gateway, alive while the attacks run. */
export interface Neighbour {
  readonly id: string;
  /** A process of it, as the host numbers it. */
  readonly pid: number;
  /** Listens on its own loopback. */
  readonly port: number;
  /** Without the zero byte. */
  readonly abstractName: string;
  /** A file in its shared memory. */
  readonly sharedFile: string;
  /** PEM of the CA made for it. */
  readonly ca: string;
}

export interface Ground {
  /** The attacker's own registration. */
  readonly id: string;
  readonly ca: string;
  readonly workingDirectory: string;
  /** The user's home on the host, where the baits lie. */
  readonly home: string;
  /** SALLYPORT_HOME of the gateway under attack. */
  readonly gatewayHome: string;
  readonly gatewayPid: number;
  /** Links of /proc/self/ns on the host, by name. */
  readonly hostNamespaces: Readonly<Record<'pid' | 'net' | 'mnt', string>>;
  readonly baits: readonly Bait[];
  /** Paths of sockets that the outside listens on. */
  readonly sockets: Readonly<Record<'docker' | 'ssh-agent', string>>;
  /** A service on the host's loopback, TCP and UDP. */
  readonly servicePort: number;
  /** Another one, TCP, on a port that the policy names for a name that leads there. */
  readonly inwardPort: number;
  readonly neighbour: Neighbour;
  /** Programs found inside. */
  readonly tools: ReadonlySet<string>;
}
