// A Docker of one container, called `agent`, on a socket of the test's: for what a real one cannot be made to do at a chosen moment.
import { createServer, type Server, type ServerResponse } from 'node:http';

const id = 'ab'.repeat(32);

/** Says what the test wants said, when the test wants it. */
export class PretendDocker {
  /** What its one container has. */
  address: string;
  startedAt = '2026-01-01T00:00:00Z';
  otherNetworks: Record<string, object> = {};
  inspections = 0;
  /** Set: answers wait. */
  hold: Promise<void> | null = null;
  /** Set: it answers with this status in place of a container. */
  fault: number | null = null;
  /** Set: it takes whoever wants to hear its events, and says nothing. */
  deaf = false;
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();

  constructor(socket: string, address: string) {
    this.address = address;
    this.#server = createServer((request, response) => {
      if (request.url?.startsWith('/events')) {
        if (this.deaf) return;
        this.#streams.add(response);
        response.once('close', () => this.#streams.delete(response));
        response.flushHeaders();
      } else void this.#inspect(response);
    });
    this.#server.listen(socket);
  }

  async #inspect(response: ServerResponse): Promise<void> {
    this.inspections++;
    const text = JSON.stringify(this.#container());
    await this.hold;
    response.statusCode = this.fault ?? 200;
    response.end(this.fault === null ? text : '{"message":"no"}');
  }

  #container(): object {
    const endpoint = {
      NetworkID: 'n',
      IPAddress: this.address,
      GlobalIPv6Address: '',
      MacAddress: '02:42:00:00:00:05',
    };
    return {
      Id: id,
      Name: '/agent',
      State: { Running: true, Paused: false, Restarting: false, Pid: 4711, StartedAt: this.startedAt },
      HostConfig: { NetworkMode: 'net' },
      Config: { Labels: null },
      NetworkSettings: { Networks: { net: endpoint, ...this.otherNetworks } },
    };
  }

  say(action: string, atMs = Date.now()): void {
    const event = { Type: 'container', Action: action, Actor: { ID: id, Attributes: {} }, timeNano: atMs * 1e6 };
    for (const stream of this.#streams) stream.write(`${JSON.stringify(event)}\n`);
  }

  /** How many hear its events. */
  get listeners(): number {
    return this.#streams.size;
  }

  breakOff(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
