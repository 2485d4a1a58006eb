// A stage learns one thing about a flow and hands on a richer flow. `In` and `Out` are types, so the order of the
// path is checked by the compiler. The runner always leaves a step in the trail, also when a stage refuses, and
// stays synchronous while the stages do: a promise per stage would cost more than the stages themselves.
import type { Arrived } from './flow.ts';
import { Refusal } from './refusal.ts';

export interface Stage<In, Out extends In> {
  readonly name: string;
  /** A property, not a method: methods are compared bivariantly, and a path that leaves a stage out would compile. */
  readonly run: (flow: In) => Promise<Out> | Out;
}

export interface Path<In, Out> {
  readonly run: (flow: In) => Promise<Out> | Out;
  /** Accepts only a stage whose input the path already yields. */
  readonly next: <Next extends Out>(stage: Stage<Out, Next>) => Path<In, Next>;
}

export function startWith<In extends Arrived, Out extends In>(stage: Stage<In, Out>): Path<In, Out> {
  return pathOf<In, Out>([stage as unknown as Stage<Arrived, Arrived>]);
}

/** `In` and `Out` are what the stages were checked for one by one; inside, a flow is just a flow. */
function pathOf<In extends Arrived, Out extends In>(stages: readonly Stage<Arrived, Arrived>[]): Path<In, Out> {
  return {
    run: (flow) => runFrom(stages, 0, flow) as Promise<Out> | Out,
    next: (stage) => pathOf([...stages, stage as unknown as Stage<Arrived, Arrived>]),
  };
}

function runFrom(stages: readonly Stage<Arrived, Arrived>[], first: number, flow: Arrived): Promise<Arrived> | Arrived {
  let reached = flow;
  for (let i = first; i < stages.length; i++) {
    const stage = stages[i]!;
    let out: Promise<Arrived> | Arrived;
    try {
      out = stage.run(reached);
    } catch (error) {
      throw marked(flow, stage, error);
    }
    if (out instanceof Promise) return runLater(stages, i, flow, out);
    flow.trail.mark(stage.name, 'ok');
    reached = out;
  }
  return reached;
}

function runLater(
  stages: readonly Stage<Arrived, Arrived>[],
  at: number,
  flow: Arrived,
  pending: Promise<Arrived>,
): Promise<Arrived> {
  const stage = stages[at]!;
  return pending.then(
    (out) => {
      flow.trail.mark(stage.name, 'ok');
      return runFrom(stages, at + 1, out);
    },
    (error: unknown) => {
      throw marked(flow, stage, error);
    },
  );
}

function marked(flow: Arrived, stage: Stage<Arrived, Arrived>, error: unknown): unknown {
  flow.trail.mark(stage.name, error instanceof Refusal ? error.code : 'internal.error');
  return error;
}
