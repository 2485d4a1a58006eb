// What judging may cost: bytes worked through, and bytes held in memory at a time. Charged before anything is allocated, so
// that what is too much is a refusal in words and never the end of the process. Gives others their turn by what was done.
import { setImmediate } from 'node:timers/promises';
import { GitWireError } from '../git-wire-error.ts';

/** Where charges go on to: the share of a sandbox, or the budget that this one is a part of. */
export interface Charged {
  spend(bytes: number): void;
  hold(bytes: number): void;
  release(bytes: number): void;
}

export interface WorkLimits {
  /** Bytes read, made, hashed or compared, in all. */
  readonly maxWorkBytes: number;
  /** Bytes in memory at a time. */
  readonly maxHeldBytes: number;
}

const defaultWorkLimits: WorkLimits = { maxWorkBytes: 8 * 1024 ** 3, maxHeldBytes: 256 * 1024 ** 2 };
/** Some milliseconds of work. */
const TURN_BYTES = 2 * 1024 ** 2;

/** All that is judged goes on one piece at a time: of many pushes at once, others wait for one piece and not for one of each. */
let line: Promise<void> = Promise.resolve();

function placeInLine(): Promise<void> {
  line = line.then(() => setImmediate());
  return line;
}

export class OverBudget extends GitWireError {
  override readonly name = 'OverBudget';
  /** The sandbox has used up its share; after this many seconds it has some again. */
  readonly retryAfterS: number | null;

  constructor(message: string, retryAfterS: number | null = null) {
    super('too-large', message);
    this.retryAfterS = retryAfterS;
  }
}

export class WorkBudget implements Charged {
  readonly #limits: WorkLimits;
  readonly #above: Charged | null;
  /** What this is a part of: turns are counted there, or many small parts would never give one up. */
  readonly #whole: WorkBudget | null;
  #spent = 0;
  #held = 0;
  #turnAt = TURN_BYTES;
  #isClosed = false;

  constructor(limits: Partial<WorkLimits> = {}, above: Charged | null = null) {
    this.#limits = { ...defaultWorkLimits, ...limits };
    this.#above = above;
    this.#whole = above instanceof WorkBudget ? (above.#whole ?? above) : null;
  }

  get heldBytes(): number {
    return this.#held;
  }

  spend(bytes: number): void {
    this.#spent += bytes;
    if (this.#spent > this.#limits.maxWorkBytes) {
      throw new OverBudget(`judging this push takes more than ${this.#limits.maxWorkBytes} bytes of work`);
    }
    this.#above?.spend(bytes);
  }

  hold(bytes: number): void {
    if (this.#isClosed) throw new Error('something is held for a push that is over');
    if (this.#held + bytes > this.#limits.maxHeldBytes) {
      throw new OverBudget(`judging this push takes more than ${this.#limits.maxHeldBytes} bytes of memory`);
    }
    this.#above?.hold(bytes);
    this.#held += bytes;
  }

  release(bytes: number): void {
    const held = Math.min(bytes, this.#held);
    this.#held -= held;
    this.#above?.release(held);
  }

  /** For a piece of the work whose memory is given back as a whole when it is closed. */
  part(): WorkBudget {
    return new WorkBudget({ maxWorkBytes: Number.POSITIVE_INFINITY, maxHeldBytes: Number.POSITIVE_INFINITY }, this);
  }

  /** Gives back all that is held. May be called more than once. */
  close(): void {
    this.#isClosed = true;
    this.release(this.#held);
  }

  get isTurnDue(): boolean {
    const whole = this.#whole ?? this;
    return whole.#spent >= whole.#turnAt;
  }

  /** Lets others have their turn, when enough was done since they last had one. */
  async turn(): Promise<void> {
    if (!this.isTurnDue) return;
    const whole = this.#whole ?? this;
    whole.#turnAt = whole.#spent + TURN_BYTES;
    await placeInLine();
  }
}
