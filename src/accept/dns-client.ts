// Who asks a DNS door: one sandbox, with a rate of questions and so many connections of its own. Which client an address
// is, and whether it must be confirmed first, is each door's business.
import { answerQuery, type DnsVoice, namespaceVoice, refuseQuery } from './dns-answer.ts';
import type { DnsPorts } from './dns-door.ts';
import { Seldom } from './dns-rate.ts';

export interface DnsClient {
  /** Null: nothing is said. */
  answer(message: Buffer, address: string): Buffer | null;
  /** Connections, and questions that wait for their sender to be confirmed: counted by the door. */
  held: number;
  readonly maxHeld: number;
}

export interface DnsClients {
  /** As `DoorPorts.confirm`. */
  confirm(address: string): Promise<void> | null;
  at(address: string): DnsClient;
}

const maxHeldBySandbox = 32;

export class SandboxDns implements DnsClient {
  held = 0;
  readonly maxHeld = maxHeldBySandbox;
  readonly #ports: DnsPorts;
  readonly #voice: DnsVoice;
  readonly #notice = new Seldom();

  constructor(ports: DnsPorts, voice: DnsVoice = namespaceVoice) {
    this.#ports = ports;
    this.#voice = voice;
  }

  answer(message: Buffer): Buffer | null {
    const over = this.#ports.over();
    if (over !== null) {
      if (this.#notice.isDue()) this.#ports.flooded(over);
      return refuseQuery(message, this.#voice);
    }
    return answerQuery(message, this.#ports.lookup, this.#voice);
  }
}
