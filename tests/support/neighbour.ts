// A second sandbox beside one that floods, with an ordinary request of its own: for the tests that what one does holds up
// nobody else. Told by the order of events: the flood goes on until the neighbour has its answer.
import type { TestGateway } from './test-gateway.ts';
import { openTls } from './tunnel-client.ts';
import { Wire } from './wire.ts';

/** Asks for `/fine` at the host on a connection of its own; the status of the answer. */
export type Neighbour = () => Promise<number>;

export async function openNeighbour(gateway: TestGateway, host: string): Promise<Neighbour> {
  const { grant } = await gateway.register({ id: 'neighbour', proof: ['socket'] });
  const { socket: socketPath } = grant as { socket: string };
  return async () => {
    const wire = new Wire(await openTls({ socketPath }, `${host}:443`, { caPath: gateway.caPath }));
    wire.send(`GET /fine HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(await wire.rest())?.[1] ?? 0);
  };
}

/** `flood` is called again and again until the neighbour was answered; it has been once before the neighbour asks. */
export async function answeredDuring(flood: () => Promise<void>, neighbour: Neighbour): Promise<number> {
  let status: number | null = null;
  await flood();
  const asked = neighbour().then((found) => {
    status = found;
  });
  while (status === null) await Promise.race([asked, flood()]);
  await asked;
  return status;
}
