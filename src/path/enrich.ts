// How a stage hands on a richer flow: the same object with more known about it. Copying it at every stage cost more
// than the stages did; and what a refused flow had reached is then still there for the journal. What is known is never
// known otherwise later: where a stage has its own form of something, that is a fact of its own.
import type { HeaderList } from './exchange/header-list.ts';

/** The names of what every such flow has. What it may have (`asked`, `used`) is a note, and can grow. */
type Known<Flow> = { [Name in keyof Flow]-?: object extends Pick<Flow, Name> ? never : Name }[keyof Flow];

/** What such a flow may still be told: the notes it can have, and none of what is known. */
type Open<Flow> = Pick<Flow, Exclude<keyof Flow, Known<Flow>>> & { readonly [Name in Known<Flow>]?: never };

/** Takes no fact that the flow has already: that does not compile (tests/types/). */
export function enrich<Flow extends object, Facts extends object>(flow: Flow, facts: Facts & Open<Flow>): Flow & Facts {
  return Object.assign(flow, facts);
}

interface WithFields {
  readonly request: { readonly headers: HeaderList };
  readonly judgedFields?: HeaderList;
}

/** The fields of a request as they may go on: what comes after authorize looks at these, and never at those that came. */
export function fieldsToSend({ request, judgedFields }: WithFields): HeaderList {
  return judgedFields ?? request.headers;
}
