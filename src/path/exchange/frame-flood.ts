// The refusal for a WebSocket on which one side sends frames that carry nothing, again and again: the same words for both
// sides, made where the frames are read.
import { Refusal } from '../refusal.ts';

/** `who`: `the client`, or the name of the host. */
export function tooManyFrames(who: string, cause: Error): Refusal {
  return new Refusal('limit.frames', `${who} keeps sending empty or tiny WebSocket frames`, {
    rule: 'built-in: WebSocket without floods',
    hint: 'Open a new connection, and send fewer, larger frames.',
    cause,
  });
}
