// Sends probes to the attacker's script inside the sandbox and reads the results, one batch at a time. The answers come from
// something hostile, so they are parsed strictly.
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { waitAtMost } from '../../kit/wait-at-most.ts';
import type { Observation, Probe } from './probe.ts';

export interface InsideStreams {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** It is gone, or does not answer: nothing further can be tried. */
export class AttackerGone extends Error {
  override readonly name = 'AttackerGone';
}

/** One batch; every probe of it has a shorter limit of its own. */
const maxBatchMs = 45_000;
const maxStartMs = 15_000;

export class Attacker {
  readonly #input: Writable;
  readonly #waiting = new Map<number, { take(batch: Observation[]): void; fail(reason: Error): void }>();
  #number = 0;
  #gone: Error | null = null;
  #errors = '';
  #onReady: () => void = () => {};
  readonly #ready: Promise<void>;

  constructor({ stdin, stdout, stderr }: InsideStreams) {
    this.#input = stdin;
    stdin.on('error', () => {});
    stderr.on('data', (chunk: Buffer) => {
      this.#errors = `${this.#errors}${chunk.toString()}`.slice(-2_000);
    });
    this.#ready = new Promise((resolve) => {
      this.#onReady = resolve;
    });
    createInterface({ input: stdout })
      .on('line', (line) => this.#hear(line))
      .on('close', () => this.#fail('the attacker inside has ended'));
  }

  /** Resolves when the script runs inside. */
  ready(): Promise<void> {
    return this.#within(maxStartMs, this.#ready, 'the attacker inside does not start');
  }

  attempt(probes: readonly Probe[]): Promise<Observation[]> {
    if (this.#gone !== null) return Promise.reject(this.#gone);
    const number = ++this.#number;
    const batch = new Promise<Observation[]>((take, fail) => this.#waiting.set(number, { take, fail }));
    this.#input.write(`${JSON.stringify({ number, probes })}\n`);
    return this.#within(maxBatchMs, batch, 'the attacker inside does not answer');
  }

  #hear(line: string): void {
    let said: { ready?: number; number?: number; observations?: Observation[] };
    try {
      said = JSON.parse(line) as typeof said;
    } catch {
      return;
    }
    if (said.ready !== undefined) this.#onReady();
    if (said.number === undefined || !Array.isArray(said.observations)) return;
    this.#waiting.get(said.number)?.take(said.observations.map(asObservation));
    this.#waiting.delete(said.number);
  }

  #fail(message: string): void {
    const words = this.#errors.trim().split('\n').slice(-3).join(' ');
    this.#gone ??= new AttackerGone(words === '' ? message : `${message}: ${words}`);
    for (const { fail } of this.#waiting.values()) fail(this.#gone);
    this.#waiting.clear();
  }

  async #within<Value>(ms: number, promise: Promise<Value>, message: string): Promise<Value> {
    const ended = new Promise<never>((_, reject) => this.#waiting.set(-1, { take: () => {}, fail: reject }));
    try {
      return await waitAtMost(Promise.race([promise, ended]), ms, () => {
        this.#fail(message);
        throw this.#gone;
      });
    } finally {
      this.#waiting.delete(-1);
    }
  }
}

function asObservation(value: Observation): Observation {
  const { ok, error, text, exit } = value;
  return {
    ok: ok === true,
    error: typeof error === 'string' ? error : null,
    text: typeof text === 'string' ? text : '',
    exit: typeof exit === 'number' ? exit : null,
  };
}
