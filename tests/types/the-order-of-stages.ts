// What must not compile: a path that leaves a stage out or swaps two. Checked by `npm run types`, and by nothing else: a line
// under `@ts-expect-error` that compiles is an error itself.
import { ownCallPath, questionPath, requestPath, type Stages } from '../../src/path/paths.ts';
import { startWith } from '../../src/path/stage.ts';

declare const stages: Stages;
const { accept, identify, authorize, inject, forward } = stages;

// The order that holds, so that an error below is about the order.
startWith(accept).next(identify).next(authorize).next(inject).next(forward);

// One stage left out.
// @ts-expect-error identify wants what accept has read
startWith(accept).next(authorize).next(inject).next(forward);
// @ts-expect-error authorize decides before inject
startWith(accept).next(identify).next(inject).next(forward);
// @ts-expect-error inject makes what forward sends
startWith(accept).next(identify).next(authorize).next(forward);
// @ts-expect-error nothing but accept begins with what came in
startWith(identify).run(arrived());

// Several left out.
// @ts-expect-error neither identified nor authorized
startWith(accept).next(inject).next(forward);
// @ts-expect-error nothing but read
startWith(accept).next(forward);

// Two swapped.
// @ts-expect-error authorize before identify
startWith(accept).next(authorize).next(identify).next(inject).next(forward);
// @ts-expect-error inject before authorize
startWith(accept).next(identify).next(inject).next(authorize).next(forward);
// @ts-expect-error forward before inject
startWith(accept).next(identify).next(authorize).next(forward).next(inject);

// A stage in the place of another.
// @ts-expect-error forward is no inject
requestPath({ accept, identify, authorize, inject: forward, forward });
// @ts-expect-error authorize cannot stand for identify
requestPath({ accept, identify: authorize, authorize, inject, forward });

// A request that was only read cannot take the paths of the gateway's own questions.
// @ts-expect-error a question is authorized
questionPath(stages, () => true).run(arrived());
// @ts-expect-error a call of the gateway's own has its credential in it
ownCallPath(stages).run(arrived());

function arrived(): import('../../src/path/flow.ts').Arrived {
  throw new Error('only its type is used');
}
