// Runs the path for one arrival and sees it through: a refusal becomes an answer in words, anything else that is thrown
// becomes a 500 with nothing more forwarded, and every outcome is written down. Nothing is served unrecorded.
import { randomBytes } from 'node:crypto';
import { ClientGone } from '../path/exchange/client-gone.ts';
import type { Arrived, Authorized, Forwarded, Identified, Permission } from '../path/flow.ts';
import { Refusal } from '../path/refusal.ts';
import { renderRefusal } from '../path/refusal-answer.ts';
import type { Path } from '../path/stage.ts';
import { Trail } from '../path/trail.ts';
import type { Admitted, Arrival, DoorExchange } from '../stages/accept/doors/door-ports.ts';
import type { RecordedOutcome } from '../stages/audit/journal/record.ts';
import type { BrakeCaller } from '../stages/authorize/limits/flood-brake.ts';
import { waitedMs } from '../stages/authorize/limits/waiting-time.ts';
import type { RequestTime } from './build/request-time.ts';

export interface ServePorts {
  readonly path: Path<Arrived, Forwarded>;
  readonly admission: Path<Arrived, Authorized>;
  readonly finish: (flow: Arrived, outcome: RecordedOutcome) => void;
  /** Throws while records cannot be kept. */
  readonly requireJournal: () => void;
  /** Left out: whoever is refused is told so at once. */
  readonly brake?: BrakeCaller;
  /** Left out: a request may take as long as it takes. */
  readonly requestTime?: RequestTime;
}

export interface RequestServer {
  serve(arrival: Arrival): string | null;
  admit(arrival: Arrival): Admitted | null;
  /** Why it would not be admitted; null: it would. Leaves no record: for what was refused and written down a moment ago. */
  whyNot(arrival: Arrival): Refusal | null;
  /** Is it to pass undecrypted? Leaves no record: what is not is read, and each request in it has its own. */
  tunnels(arrival: Arrival): boolean;
}

export function createRequestServer(ports: ServePorts): RequestServer {
  const process = randomBytes(5).toString('hex');
  let count = 0;

  function arrive(arrival: Arrival): Arrived {
    count++;
    return new ArrivedFlow(`${process}-${count.toString(36)}`, arrival);
  }

  function end(flow: Arrived, outcome: RecordedOutcome): void {
    flow.trail.end();
    ports.finish(flow, outcome);
  }

  function failed(flow: Arrived, error: unknown): void {
    if (error instanceof ClientGone) {
      end(flow, { verdict: 'abandoned', status: 499, refusal: null, error });
      return;
    }
    const refusal = error instanceof Refusal ? error : ourFault(error);
    let { status } = refusal;
    if (flow.exchange.answered) flow.exchange.abort();
    else {
      const answer = renderRefusal(refusal, flow);
      status = answer.status;
      flow.exchange.answer(status, answer.headers, answer.body);
    }
    const verdict = refusal.isFailure ? 'failed' : 'refused';
    end(flow, { verdict, status, refusal, error: refusal.cause ?? null });
  }

  /** A refusal that was thrown at once: told late to who is refused all the time, before it is anybody. */
  function turnedDown(flow: Arrived & Partial<Identified>, error: unknown): void {
    const pause = flow.sandbox === undefined ? (ports.brake?.(flow, error) ?? null) : null;
    if (pause === null) failed(flow, error);
    else void pause.then(() => failed(flow, error));
  }

  /** Sees through what was not decided at once, for as long as a request may take. */
  function follow(flow: Arrived, exchange: DoorExchange, result: Promise<Forwarded>): void {
    const overtime = (refusal: Refusal): void => {
      failed(flow, refusal);
      // Whatever is still under way for it ends too.
      exchange.onAbandoned?.();
    };
    const clock = ports.requestTime?.start(overtime, () => waitedMs(flow.trail));
    /** False: it was told already. What it was given since then (a place that had to be asked for) goes back. */
    const isOpen = (): boolean => {
      if (clock?.stop() !== false) return true;
      flow.trail.end();
      return false;
    };
    result.then(
      (done) => {
        if (!isOpen()) return;
        if (exchange.cut) failed(flow, exchange.cut);
        else end(flow, { verdict: 'allowed', status: done.status, refusal: null, error: null });
      },
      (error: unknown) => {
        if (!isOpen()) return;
        // The client did not go: the door closed on it, and says why.
        failed(flow, error instanceof ClientGone && exchange.cut ? exchange.cut : error);
      },
    );
  }

  function serve(arrival: Arrival): string | null {
    const flow: Arrived & Partial<Identified> = arrive(arrival);
    try {
      ports.requireJournal();
      const result = ports.path.run(flow);
      if (result instanceof Promise) {
        follow(flow, arrival.exchange, result);
      } else end(flow, { verdict: 'allowed', status: result.status, refusal: null, error: null });
    } catch (error) {
      turnedDown(flow, error);
    }
    // Who is calling is known at once; only what comes after may take time.
    return flow.sandbox?.id ?? null;
  }

  function admit(arrival: Arrival): Admitted | null {
    const flow = arrive(arrival);
    try {
      ports.requireJournal();
      const admitted = ports.admission.run(flow);
      if (admitted instanceof Promise) {
        // Only a refusal may come late (who asks far too often is told so late): the door lets nobody in for a promise.
        admitted.then(
          () => failed(flow, new Error('admission must be decided at once')),
          (error: unknown) => failed(flow, error),
        );
        return null;
      }
      const { tunnel, tcp = false } = admitted.permission;
      return { tunnel, tcp, sandboxId: admitted.sandbox.id };
    } catch (error) {
      turnedDown(flow, error);
      return null;
    }
  }

  function permits(arrival: Arrival): Permission | Refusal {
    const flow = arrive(arrival);
    try {
      ports.requireJournal();
      const admitted = ports.admission.run(flow);
      if (!(admitted instanceof Promise)) return admitted.permission;
      admitted.catch(() => {});
      return ourFault(new Error('admission must be decided at once'));
    } catch (error) {
      // A fault of ours is a refusal as well.
      return error instanceof Refusal ? error : ourFault(error);
    } finally {
      flow.trail.end();
    }
  }

  const whyNot = (arrival: Arrival): Refusal | null => {
    const judged = permits(arrival);
    return judged instanceof Refusal ? judged : null;
  };
  const tunnels = (arrival: Arrival): boolean => {
    const judged = permits(arrival);
    return !(judged instanceof Refusal) && judged.tunnel;
  };

  return { serve, admit, whyNot, tunnels };
}

/** A class, and no literal: V8 then learns from the first few how much stages will add, and keeps room for it. */
class ArrivedFlow implements Arrived {
  readonly requestId: string;
  readonly arrivedAt = Date.now();
  readonly caller: Arrived['caller'];
  readonly request: Arrived['request'];
  readonly exchange: Arrived['exchange'];
  readonly trail = new Trail(performance.now());

  constructor(requestId: string, { caller, request, exchange }: Arrival) {
    this.requestId = requestId;
    this.caller = caller;
    this.request = request;
    this.exchange = exchange;
  }
}

function ourFault(cause: unknown): Refusal {
  return new Refusal('internal.error', 'the gateway had an internal error and did not serve this request', {
    rule: 'built-in: an error is a refusal',
    hint: 'Tell the operator the request_id: the log of the gateway has the cause.',
    cause,
  });
}
