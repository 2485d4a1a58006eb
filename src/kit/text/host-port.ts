// `PORT[:INSIDE]`: a port of the host's loopback, and where the sandbox finds it on its own. For the policy and the command line
// alike. Knows the ports that are the door's own inside; who listens outside is looked up elsewhere.
import { sandboxProxyPort } from '../namespace-handles.ts';

interface HostPort {
  readonly port: number;
  readonly inside: number;
}

/** Inside a sandbox these are the door's. */
const ofTheDoor: ReadonlySet<number> = new Set([53, 80, 443, sandboxProxyPort]);

export function parseHostPort(text: string): { readonly value: HostPort } | { readonly problem: string } {
  const match = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text);
  const port = Number(match?.[1] ?? 0);
  const inside = Number(match?.[2] ?? port);
  if (match === null || !isPort(port) || !isPort(inside)) {
    return { problem: 'write a port such as 5432, or 5432:15432 for another one inside the sandbox' };
  }
  if (ofTheDoor.has(inside)) {
    return {
      problem: `port ${inside} inside the sandbox is the door's own: choose another, such as ${port}:${inside + 10_000}`,
    };
  }
  return { value: { port, inside } };
}

/** As it is written. */
export function hostPortText({ port, inside }: HostPort): string {
  return port === inside ? String(port) : `${port}:${inside}`;
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}
