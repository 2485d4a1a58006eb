// An answer of a person that cannot be given: the question is gone, or it cannot be answered so. Says what can be done.
import type { OfferedLine } from './approval-ports.ts';

export class AnswerRefused extends Error {
  override readonly name: string = 'AnswerRefused';
  /**
   * `unknown`: no such question. `not-so`: it cannot be answered in this way. `moved`: what was shown is not so any more.
   * `unrecorded`: it could not be written down.
   */
  readonly reason: 'unknown' | 'not-so' | 'moved' | 'unrecorded';
  readonly hint: string;

  constructor(reason: AnswerRefused['reason'], message: string, hint: string) {
    super(message);
    this.reason = reason;
    this.hint = hint;
  }
}

/** A line of the policy that nobody has agreed to: another was shown, or none. */
export class LineNotAgreed extends AnswerRefused {
  override readonly name = 'LineNotAgreed';
  /** What would be written now. */
  readonly line: OfferedLine['preview'];

  constructor(line: OfferedLine['preview'], shown: string | null | undefined) {
    const what =
      (shown ?? null) === null ? 'you have not seen the line it would write' : 'it would write another line now';
    super(
      'moved',
      what,
      `It would put this at ${line.file}:${line.line}. Send it back in "line" to have it written:\n${line.text}`,
    );
    this.line = line;
  }
}
