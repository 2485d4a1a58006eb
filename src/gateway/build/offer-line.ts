// What `always` means: a line in the configuration file, shown before it is written, and in force when it was. Never
// writes anything but that line.

import type { CompiledPolicy } from '../../policy/compiled.ts';
import { lineForAlways } from '../../policy/edit/always-line.ts';
import { CannotEdit } from '../../policy/edit/edit-policy.ts';
import { ConfigInDoubt } from '../../policy/load/config-in-doubt.ts';
import type { MachineFiles } from '../../policy/load/machine-files.ts';
import { AnswerRefused } from '../approvals/answer-refused.ts';
import type { ApprovalOptions } from '../approvals/approval-ports.ts';
import { plainMethodOf } from '../approvals/covered-by.ts';
import { describeLine } from '../approvals/parse-answer.ts';

export interface LineOfferParts {
  readonly policy: () => CompiledPolicy;
  readonly machine: MachineFiles;
  /** Throws when the file as it lies there would not be followed. */
  readonly checkMayFollow: () => void;
  /** Brings the file as it is now into force, everywhere. */
  readonly reload: () => Promise<void>;
}

export function createLineOffer({
  policy,
  machine,
  checkMayFollow,
  reload,
}: LineOfferParts): ApprovalOptions['offerLine'] {
  return async (asked, scope) => {
    const wanted = { ...asked, method: plainMethodOf(asked) };
    // A tunnel shows no path: it is its host that is meant.
    const far = asked.path === '' ? 'host' : scope;
    const parts = { origin: policy().origin, machine, now: new Date() };
    const { file, line, text, write } = await inWords(async () => {
      checkMayFollow();
      return lineForAlways(wanted, far, parts);
    });
    return {
      preview: { file, line, text, covers: describeLine(asked, far) },
      write: () =>
        inWords(async () => {
          checkMayFollow();
          await write();
          await reload();
        }),
    };
  };
}

async function inWords<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof CannotEdit) throw new AnswerRefused('not-so', error.message, error.hint);
    if (error instanceof ConfigInDoubt) throw new AnswerRefused('not-so', error.what, error.hint);
    throw error;
  }
}
