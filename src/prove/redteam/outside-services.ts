// What the outside plants and listens on, so that it can be seen whether the sandbox reached it: sockets of the kind that hold
// keys or rule the machine, and a service on the host's loopback.
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { dirname } from 'node:path';

/** A process of the user outside, as a shell is: it has these variables. Ends with us, however we end. */
export function startUserProcess(variables: Readonly<Record<string, string>>): { close(): void } {
  const child = spawn('/bin/sh', ['-c', 'read -r _'], { env: { ...variables }, stdio: ['pipe', 'ignore', 'ignore'] });
  child.on('error', () => {});
  child.unref();
  return { close: () => child.kill('SIGKILL') };
}

export interface OutsideServices {
  readonly servicePort: number;
  /** Another, which the policy names. */
  readonly inwardPort: number;
  close(): void;
}

/** `visited` hears what was reached. Nothing of it may keep the process alive. */
export async function startOutsideServices(
  sockets: Readonly<Record<string, string>>,
  visited: (name: string) => void,
): Promise<OutsideServices> {
  const servers: Server[] = [];
  const serve = (name: string): Server => {
    const server = createServer((visitor) => {
      visited(name);
      visitor.on('error', () => {});
      visitor.destroy();
    });
    servers.push(server.unref());
    return server;
  };
  for (const [name, path] of Object.entries(sockets)) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    await listening(serve(`the planted ${name} socket`), { path });
  }
  const onLoopback = async (name: string): Promise<number> => {
    const server = serve(name);
    await listening(server, { host: '127.0.0.1', port: 0 });
    return (server.address() as AddressInfo).port;
  };
  const port = await onLoopback("a service on the host's loopback");
  const inwardPort = await onLoopback("a service on the host's loopback, by its name");
  const datagrams = createSocket('udp4', () => visited("a service on the host's loopback, by UDP")).unref();
  await new Promise<void>((resolve, reject) => {
    datagrams.once('error', reject);
    datagrams.bind(port, '127.0.0.1', resolve);
  });
  return {
    servicePort: port,
    inwardPort,
    close: () => {
      datagrams.close();
      for (const server of servers) server.close();
    },
  };
}

function listening(server: Server, options: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, resolve);
  });
}
