// Who asks a DNS door: one sandbox, with a rate of questions and so many connections of its own. Which client an address
// is, and whether it must be confirmed first, is each door's business.
import { TokenBucket } from '../../../kit/token-bucket.ts';
import { answerQuery, type DnsVoice, namespaceVoice, refuseQuery } from './dns-answer.ts';
import type { DnsPorts } from './dns-door.ts';
import { Seldom } from './dns-rate.ts';

export interface DnsClient {
  /** Null: nothing is said, and a connection ends. */
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
/** How many questions over the limit get a refusal. A refusal costs as much as an answer, and TCP can bring thousands at once. */
const refusedRate = { burst: 256, perSecond: 100 };

export class SandboxDns implements DnsClient {
  held = 0;
  readonly maxHeld = maxHeldBySandbox;
  readonly #ports: DnsPorts;
  readonly #voice: DnsVoice;
  readonly #now: () => number;
  readonly #notice: Seldom;
  readonly #refused: TokenBucket;

  /** `now`: milliseconds that never run backwards. */
  constructor(ports: DnsPorts, voice: DnsVoice = namespaceVoice, now: () => number = () => performance.now()) {
    this.#ports = ports;
    this.#voice = voice;
    this.#now = now;
    this.#notice = new Seldom(now);
    this.#refused = new TokenBucket(refusedRate, now());
  }

  answer(message: Buffer): Buffer | null {
    const over = this.#ports.over();
    if (over !== null) {
      if (this.#notice.isDue()) this.#ports.flooded(over);
      return this.#refused.take(1, this.#now()) ? refuseQuery(message, this.#voice) : null;
    }
    return answerQuery(message, this.#ports.lookup, this.#voice);
  }
}
