// How answers of people get into the journal. What grants something is written before it is granted, and while the journal
// cannot be written nothing is; a no, or the end of an approval, stands all the same. Decides nothing else.
// Guards: threats.md T67

import type { Journal } from '../../stages/audit/journal/journal.ts';
import { isoTime } from '../../stages/audit/journal/record.ts';
import { AnswerRefused } from '../approvals/answer-refused.ts';
import type { ApprovalNote, ApprovalOptions } from '../approvals/approval-ports.ts';

export type GrantJournal = Pick<Journal, 'append' | 'flush' | 'healthy'>;

export function createApprovalNotes(journal: GrantJournal): Pick<ApprovalOptions, 'note' | 'noteGrant'> {
  const note = (one: ApprovalNote): void => {
    journal.append({ time: isoTime(Date.now()), note: 'approval', count: 1, ...one });
  };
  return {
    note,
    noteGrant(one) {
      if (!journal.healthy) throw notKept();
      note(one);
      // A disk that has filled up since the last record is found out here, and not after the request has gone.
      journal.flush();
      if (journal.healthy) return;
      note({ ...one, answer: 'not granted', text: `the journal could not be written: ${one.text}` });
      throw notKept();
    },
  };
}

function notKept(): AnswerRefused {
  return new AnswerRefused(
    'unrecorded',
    'the audit journal cannot be written, so nothing is approved',
    'Free space on the disk of the journal, or repair it; the log of the gateway says what is wrong. Deny works all the same.',
  );
}
