// Ports that stay as they are while a test looks at them. One that the system chose may belong to any other process as soon
// as it is given up: then something listens where nobody should, or it cannot be had a second time.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Of this machine, where nobody listens: no port that the system gives away by itself. */
export const nobodyThere = '127.0.0.1:1';

/** A port of 127.0.0.1 that is free, and that the system gives to nobody by itself: it can be given up and taken again. */
export async function keptPort(): Promise<number> {
  const lowest = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
  for (let tries = 0; tries < 50; tries++) {
    const port = 10_000 + Math.floor(Math.random() * (lowest - 10_000));
    if (await isFree(port)) return port;
  }
  throw new Error(`no port below ${lowest} is free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
