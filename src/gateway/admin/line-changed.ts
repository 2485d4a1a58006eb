// The answer to an `always` whose line is not the one that was shown: with the line as it would be now, to be looked at.
import { AdminError } from './admin-error.ts';
import type { PolicyLine } from './admin-ports.ts';

export class LineChanged extends AdminError {
  readonly line: PolicyLine;

  constructor(line: PolicyLine, message: string, hint: string) {
    super(409, 'question.line', message, hint);
    this.line = line;
  }
}
