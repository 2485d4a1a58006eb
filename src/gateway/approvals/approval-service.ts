// The approvals at which people are asked and answer: what waits, how long, and what becomes of it. Everything it keeps is
// bounded. No answer is a no, and nothing is granted that the journal has not taken. Forwards nothing itself.
import type {
  AccessRequest,
  Approval,
  ApprovalScope,
  Asked,
  Asking,
  PersonsAnswer,
  Question,
  ReportedAccessRequest,
  Verdict,
} from '../../path/approvals.ts';
import { AccessRequests } from './access-requests.ts';
import { AnswerRefused, LineNotAgreed } from './answer-refused.ts';
import type { ApprovalEvent, ApprovalOptions, OfferedLine } from './approval-ports.ts';
import { GrantedApprovals } from './granted-approvals.ts';
import { describeAnswer, refuseScope, releases, said } from './parse-answer.ts';
import { QuestionIds } from './question-ids.ts';
import { Watchers } from './watchers.ts';

interface Open {
  readonly question: Question;
  readonly settle: (verdict: Verdict) => void;
  isBeingAnswered: boolean;
}

/** Nobody waits for an access request: it stays a while for who comes by. */
const accessRequestLivesMs = 60 * 60_000;

export class ApprovalService implements Asking {
  readonly watchers: Watchers;
  readonly #options: ApprovalOptions;
  readonly #now: () => number;
  readonly #later: NonNullable<ApprovalOptions['later']>;
  readonly #granted: GrantedApprovals;
  readonly #accessRequests = new AccessRequests();
  readonly #open = new Map<string, Open>();
  /** Requests that wait, by sandbox. */
  readonly #held = new Map<string, number>();
  readonly #listeners = new Set<(event: ApprovalEvent) => void>();
  readonly #ids: QuestionIds;
  #heldInAll = 0;
  #isClosed = false;

  constructor(options: ApprovalOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#later = options.later ?? afterMs;
    // Not by the time of day: who sets the clock back would make somebody there of nobody.
    this.watchers = new Watchers(options.now);
    this.#ids = new QuestionIds(options.newId);
    this.#granted = new GrantedApprovals({ inForce: options.inForce, spread: options.spread, now: this.#now });
  }

  /** Hears of questions and answers; returns how to stop. */
  subscribe(listener: (event: ApprovalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  list(): readonly Question[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  approvals(): readonly Approval[] {
    return this.#granted.list();
  }

  ask(asked: Asked, signal: AbortSignal): Promise<Verdict> {
    if (signal.aborted) return Promise.resolve(refused('gone'));
    // Not noted: nothing was asked, and the request's own record says so.
    if (this.#isClosed || !this.watchers.isAnybodyThere) return Promise.resolve(refused('nobody-watches'));
    const { answerWithinMs, held, heldPerSandbox } = this.#options.settings();
    const own = this.#held.get(asked.sandbox) ?? 0;
    if (own >= heldPerSandbox || this.#heldInAll >= held) return Promise.resolve(refused('too-many'));
    this.#hold(asked.sandbox, 1);
    return new Promise((resolve) => {
      const withdraw = (): void => this.#end(id, refused('gone'), noteOf(asked, 'withdrawn', null, 'its client left'));
      const id = this.#put(asked, null, answerWithinMs, (verdict) => {
        signal.removeEventListener('abort', withdraw);
        this.#hold(asked.sandbox, -1);
        resolve(verdict);
      });
      signal.addEventListener('abort', withdraw, { once: true });
    });
  }

  accessRequest(
    sandbox: string,
    accessRequest: AccessRequest,
  ): ReportedAccessRequest | { readonly refused: 'too-many' | 'nobody-watches' } {
    const { passes, tunnel, inVain, ...found } = this.#options.judgeAccessRequest(sandbox, accessRequest);
    if (passes) return this.#accessRequests.alreadyAllowed(accessRequest, this.#now());
    const same = this.#accessRequests.findOpen(sandbox, accessRequest);
    if (same !== null) return same;
    if (!this.watchers.isAnybodyThere) return { refused: 'nobody-watches' };
    if (!this.#accessRequests.hasRoom(sandbox)) return { refused: 'too-many' };
    const place = tunnel ? { method: 'CONNECT', path: '' } : {};
    const asked: Asked = { sandbox, ...accessRequest, ...place, ...found, query: null, requestId: null };
    const id = this.#put(asked, inVain, accessRequestLivesMs, (verdict) => {
      this.#accessRequests.settle(id, verdict, null);
    });
    return this.#accessRequests.open(id, sandbox, accessRequest, this.#now());
  }

  accessRequestsOf(sandbox: string): readonly ReportedAccessRequest[] {
    return this.#accessRequests.of(sandbox, (approval) => this.#granted.find(approval.id) !== null);
  }

  async preview(id: string, scope: ApprovalScope): Promise<OfferedLine['preview']> {
    const { question } = this.#find(id);
    refuseScope(question, scope);
    return (await this.#options.offerLine(question, scope)).preview;
  }

  /** What it then says of itself. Resolves when it is in force everywhere. */
  async answer(id: string, answer: PersonsAnswer): Promise<string> {
    const open = this.#find(id);
    const { question } = open;
    if (open.isBeingAnswered) {
      throw new AnswerRefused('moved', `somebody else is answering ${id}`, 'Look again in a moment.');
    }
    const note = noteOf(question, describeAnswer(answer), answer.by, said(question, answer));
    if (answer.answer === 'deny') {
      this.#end(id, { granted: false, why: 'denied', by: answer.by }, note);
      return note.text;
    }
    if (question.inVain !== null) {
      throw new AnswerRefused('not-so', `approving ${id} would change nothing: ${question.inVain}`, 'Deny it.');
    }
    const granted: Verdict = { granted: true, how: `${note.answer} by ${answer.by}` };
    if (answer.for === 'once') {
      if (question.requestId === null) {
        const hint = 'Approve it for some minutes (`--for 15m`), or always (`--always`).';
        throw new AnswerRefused('not-so', `no request waits for ${id}, so it cannot be approved once`, hint);
      }
      this.#end(id, granted, note);
      return note.text;
    }
    refuseScope(question, answer.scope);
    open.isBeingAnswered = true;
    let approval: Approval | null = null;
    try {
      if (answer.for === 'minutes') approval = await this.#grant(question, answer, note);
      else await this.#writeLine(question, answer, note);
    } finally {
      open.isBeingAnswered = false;
    }
    this.#accessRequests.settle(id, granted, approval);
    this.#end(id, granted, null);
    for (const { question: other } of [...this.#open.values()]) {
      if (!releases(question, answer, other)) continue;
      this.#release(other.id, granted, approval, noteOf(other, note.answer, answer.by, `as ${id} was answered`));
    }
    return note.text;
  }

  /** Ends an approval before its time. False: there is none. */
  async withdraw(approvalId: string, by: string): Promise<boolean> {
    const approval = this.#granted.find(approvalId);
    if (approval === null) return false;
    const text = `approval ${approvalId} was ended before its time`;
    this.#tryNote({ text, sandbox: approval.sandbox, request: null, by, answer: 'withdraw' });
    return this.#granted.withdraw(approvalId);
  }

  async startLearning(sandbox: string): Promise<void> {
    const text = 'from now on it may read unknown public hosts, without any credential';
    this.#options.noteGrant({ text, sandbox, request: null, by: null, answer: 'learn' });
    await this.#granted.startLearning(sandbox);
  }

  /** The sandbox is gone: nothing of it waits or stays approved. */
  async drop(sandbox: string): Promise<void> {
    for (const { question } of [...this.#open.values()]) {
      if (question.sandbox !== sandbox) continue;
      this.#end(question.id, refused('gone'), noteOf(question, 'withdrawn', null, 'its sandbox is gone'));
    }
    this.#accessRequests.drop(sandbox);
    await this.#granted.drop(sandbox);
  }

  /** The gateway ends: whoever waits is told at once, and not only when it is cut off. */
  close(): void {
    this.#isClosed = true;
    for (const { question } of [...this.#open.values()]) {
      this.#end(question.id, refused('nobody-answered'), noteOf(question, 'unanswered', null, 'the gateway ends'));
    }
  }

  async #grant(question: Question, answer: ForMinutes, note: Note): Promise<Approval> {
    const { minutes, scope, by } = answer;
    if (!Number.isInteger(minutes) || minutes < 1 || minutes > 1440) {
      throw new AnswerRefused('not-so', `${minutes} is not a number of minutes`, 'Give 1 to 1440 minutes.');
    }
    const approval = this.#granted.approvalOf(question, minutes, scope, by);
    this.#options.noteGrant({ ...note, text: `${note.text} (${approval.id})` });
    await this.#granted.grant(approval);
    return approval;
  }

  /** Here alone, and for whoever answers: what is offered now is what was shown, and is what is written. */
  async #writeLine(question: Question, { scope, line }: Always, note: Note): Promise<void> {
    const { preview, write } = await this.#options.offerLine(question, scope);
    if (line !== preview.text) throw new LineNotAgreed(preview, line);
    const where = `${preview.file}:${preview.line}`;
    this.#options.noteGrant({ ...note, text: `${note.text}: ${where}: ${preview.text.trim()}` });
    try {
      await write();
    } catch (error) {
      this.#options.note({ ...note, answer: 'not written', text: `the line at ${where} is not in force` });
      throw error;
    }
  }

  #find(id: string): Open {
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const hint = 'It was answered, its time is over, or its client has left. `sallyport approve` lists what waits.';
    throw new AnswerRefused('unknown', `nothing waits as ${id}`, hint);
  }

  #put(asked: Asked, inVain: string | null, forMs: number, settled: (verdict: Verdict) => void): string {
    const id = this.#ids.next((one) => this.#open.has(one) || this.#accessRequests.has(one));
    const askedAtMs = this.#now();
    const question: Question = { ...asked, id, askedAtMs, untilMs: askedAtMs + forMs, inVain };
    const callOff = this.#later(() => {
      const nobody: Verdict = refused('nobody-answered');
      this.#end(id, nobody, noteOf(asked, 'unanswered', null, 'nobody answered in time'));
    }, forMs);
    const settle = (verdict: Verdict): void => {
      callOff();
      settled(verdict);
    };
    this.#open.set(id, { question, settle, isBeingAnswered: false });
    this.#tell({ event: 'question', data: question });
    return id;
  }

  /** Another question that the same answer settles. What cannot be written down waits on: it has not passed. */
  #release(id: string, granted: Verdict, approval: Approval | null, note: Note): void {
    try {
      this.#options.noteGrant(note);
    } catch {
      return;
    }
    this.#accessRequests.settle(id, granted, approval);
    this.#end(id, granted, null);
  }

  /** Once for each question. What is granted is noted before; a no stands whether or not it could be written down. */
  #end(id: string, verdict: Verdict, note: Note | null): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    if (note !== null && verdict.granted) this.#options.noteGrant(note);
    else if (note !== null) this.#tryNote(note);
    this.#open.delete(id);
    open.settle(verdict);
    this.#tell({ event: 'answered', data: { id, verdict } });
  }

  #tryNote(note: Note): void {
    try {
      this.#options.note(note);
    } catch {
      // The gateway's own log says what is wrong with the journal.
    }
  }

  #hold(sandbox: string, change: 1 | -1): void {
    const now = (this.#held.get(sandbox) ?? 0) + change;
    this.#heldInAll += change;
    if (now === 0) this.#held.delete(sandbox);
    else this.#held.set(sandbox, now);
  }

  #tell(event: ApprovalEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

type ForMinutes = Extract<PersonsAnswer, { readonly for: 'minutes' }>;
type Always = Extract<PersonsAnswer, { readonly for: 'always' }>;
type Note = Parameters<ApprovalOptions['note']>[0];

function noteOf(asked: Asked, answer: string, by: string | null, text: string): Note {
  return { text, sandbox: asked.sandbox, request: asked.requestId, by, answer };
}

function refused(why: 'nobody-answered' | 'nobody-watches' | 'too-many' | 'gone'): Verdict {
  return { granted: false, why, by: null };
}

function afterMs(act: () => void, ms: number): () => void {
  const timer = setTimeout(act, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
