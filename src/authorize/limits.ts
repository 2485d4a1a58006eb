// How much one sandbox may ask for: requests per minute and requests at a time. A token bucket that holds one
// minute's worth: a whole minute's requests may come at once (package installs do), after that they come at the
// configured rate. Memory lasts as long as the sandbox's registration object does.
import { Refusal } from '../flow/refusal.ts';
import type { Sandbox } from '../flow/sandbox.ts';
import type { Limits } from '../policy/compiled.ts';

class Meter {
  running = 0;
  tokens: number;
  filledAtMs: number;
  /** One function for all requests: it is asked for with every one of them. */
  readonly release = (): void => {
    this.running--;
  };

  constructor(tokens: number, filledAtMs: number) {
    this.tokens = tokens;
    this.filledAtMs = filledAtMs;
  }
}

export interface SandboxLimitsOptions {
  /** Asked for every request, so that a reload holds at once. */
  readonly limits: () => Pick<Limits, 'requestsPerMinute' | 'concurrentRequests'>;
  /** Milliseconds that never run backwards. */
  readonly now?: () => number;
}

export class SandboxLimits {
  readonly #options: SandboxLimitsOptions;
  readonly #now: () => number;
  // Keyed by the registration itself: what is unregistered takes its meter with it.
  readonly #meters = new WeakMap<Sandbox, Meter>();

  constructor(options: SandboxLimitsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Counts a request in, or throws limit.rate or limit.concurrent. Call what it returns once, when it is over. */
  admit(sandbox: Sandbox): () => void {
    const { requestsPerMinute, concurrentRequests } = this.#options.limits();
    const meter = this.#meterOf(sandbox, requestsPerMinute);
    if (meter.running >= concurrentRequests) throw tooManyAtOnce(sandbox, concurrentRequests);
    this.#fill(meter, requestsPerMinute);
    if (meter.tokens < 1) throw tooFast(sandbox, requestsPerMinute, meter.tokens);
    meter.tokens--;
    meter.running++;
    return meter.release;
  }

  #meterOf(sandbox: Sandbox, requestsPerMinute: number): Meter {
    let meter = this.#meters.get(sandbox);
    if (meter === undefined) {
      meter = new Meter(requestsPerMinute, this.#now());
      this.#meters.set(sandbox, meter);
    }
    return meter;
  }

  #fill(meter: Meter, requestsPerMinute: number): void {
    const nowMs = this.#now();
    const gained = ((nowMs - meter.filledAtMs) * requestsPerMinute) / 60_000;
    meter.tokens = Math.min(requestsPerMinute, meter.tokens + gained);
    meter.filledAtMs = nowMs;
  }
}

function tooFast(sandbox: Sandbox, requestsPerMinute: number, tokens: number): Refusal {
  const waitSeconds = requestsPerMinute > 0 ? Math.max(1, Math.ceil(((1 - tokens) * 60) / requestsPerMinute)) : 60;
  return new Refusal('limit.rate', `${sandbox.id} is over ${requestsPerMinute} requests per minute`, {
    rule: 'limits.requests_per_minute',
    hint: `Wait ${waitSeconds} s, or raise limits.requests_per_minute.`,
    retryAfterSeconds: waitSeconds,
  });
}

function tooManyAtOnce(sandbox: Sandbox, concurrentRequests: number): Refusal {
  return new Refusal('limit.concurrent', `${sandbox.id} has ${concurrentRequests} requests open already`, {
    rule: 'limits.concurrent_requests',
    hint: 'Let some of them end, or raise limits.concurrent_requests.',
    retryAfterSeconds: 1,
  });
}
