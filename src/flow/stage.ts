// A stage learns one thing about a flow and hands on a richer flow. `In` and `Out` are types, so the order of the
// path is checked by the compiler. The runner always leaves a step in the trail, also when a stage refuses, and
// stays synchronous while the stages do: a promise per stage would cost more than the stages themselves.
import type { Arrived } from './flow.ts';
import { Refusal } from './refusal.ts';

export interface Stage<In, Out extends In> {
  readonly name: string;
  run(flow: In): Promise<Out> | Out;
}

export type Run<In, Out> = (flow: In) => Promise<Out> | Out;

export interface Path<In, Out> {
  readonly run: Run<In, Out>;
  next<Next extends Out>(stage: Stage<Out, Next>): Path<In, Next>;
}

/** Begins a path at its first stage; `.next(stage)` accepts only a stage whose input the path already yields. */
export function startWith<In extends Arrived, Out extends In>(stage: Stage<In, Out>): Path<In, Out> {
  return extend<In, In, Out>((flow) => flow, stage);
}

function extend<In, Mid extends Arrived, Out extends Mid>(before: Run<In, Mid>, stage: Stage<Mid, Out>): Path<In, Out> {
  const step = timed(stage);
  const run: Run<In, Out> = (flow) => {
    const mid = before(flow);
    return mid instanceof Promise ? mid.then(step) : step(mid);
  };
  return { run, next: (stage) => extend(run, stage as never) };
}

function timed<In extends Arrived, Out extends In>(stage: Stage<In, Out>): Run<In, Out> {
  return (flow) => {
    const startedMs = performance.now();
    const done = (out: Out): Out => {
      flow.trail.add(stage.name, performance.now() - startedMs, 'ok');
      return out;
    };
    const failed = (error: unknown): never => {
      flow.trail.add(
        stage.name,
        performance.now() - startedMs,
        error instanceof Refusal ? error.code : 'internal.error',
      );
      throw error;
    };
    try {
      const out = stage.run(flow);
      return out instanceof Promise ? out.then(done, failed) : done(out);
    } catch (error) {
      return failed(error);
    }
  };
}
