// A question of the gateway's own, on behalf of a request that it is judging: through the same injection and the same
// guarded way out as everything else, never past them. What the upstream says when it refuses stays with the operator.

import { replaceUnseen } from '../../kit/text/unseen.ts';
import { ClientGone } from '../../path/exchange/client-gone.ts';
import type { ResponseHead } from '../../path/exchange/exchange.ts';
import { HeaderList } from '../../path/exchange/header-list.ts';
import type { Authorized, Forwarded, GitOperation, Identified, Injected, Permission } from '../../path/flow.ts';
import { questionAbout } from '../../path/own-questions.ts';
import { questionPath } from '../../path/paths.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Stage } from '../../path/stage.ts';
import { GitWireError } from '../../protocols/git/git-wire-error.ts';
import { canonicalTarget } from '../../stages/accept/canonical-path.ts';
import { type AnswerConsumer, QuestionExchange } from './question-exchange.ts';

export interface AskPorts {
  readonly inject: Stage<Authorized, Injected>;
  readonly forward: Stage<Injected, Forwarded>;
  /** How long one question may take, answer included; default two minutes. */
  readonly timeoutMs?: number;
}

/** On whose behalf: the flow that is being judged, what it was granted, and the end of its patience. */
export interface Asker {
  readonly flow: Identified;
  readonly permission: Permission;
  readonly signal: AbortSignal;
}

export interface UpstreamQuestion {
  /** Null: not one of git. */
  readonly operation: GitOperation | null;
  readonly method: 'GET' | 'POST';
  /** Path and query as they go out. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
  /** The one content type in which an answer is one. */
  readonly answerType: string | RegExp;
  readonly maxAnswerBytes: number;
}

/** What the far side said instead of an answer; the cause of the refusal that came of it. */
export class AnsweredWithStatus extends Error {
  override readonly name = 'AnsweredWithStatus';
  readonly status: number;

  constructor(status: number, told: string) {
    super(`status ${status} ${told}`);
    this.status = status;
  }
}

const defaultTimeoutMs = 120_000;
/** Of an answer that is not one, for the operator. */
const maxWordsBytes = 2_000;
const maxNotes = 40;
const rule = 'built-in: a push is judged by what it would change';

/** Hands the body of the answer to `take`, piece by piece. Returns when it is whole. */
export async function askUpstream(
  ports: AskPorts,
  asker: Asker,
  question: UpstreamQuestion,
  take: (chunk: Buffer) => Promise<void> | void,
): Promise<void> {
  const first = await askOnce(ports, asker, question, take);
  if (first === 'answered') return;
  // A kept connection may have been closed at the far end. A question changes nothing, so it may be asked once more.
  const second = await askOnce(ports, asker, question, take);
  if (second !== 'answered') throw second;
}

/** An upstream that was gone before it said anything is returned; everything else that is wrong is thrown. */
async function askOnce(
  ports: AskPorts,
  asker: Asker,
  question: UpstreamQuestion,
  take: (chunk: Buffer) => Promise<void> | void,
): Promise<'answered' | Refusal> {
  const { host } = asker.flow.canonical;
  if (asker.signal.aborted) throw new ClientGone();
  const exchange = new QuestionExchange(question.body, (head) => consumerOf(head, host, question, take));
  const giveUp = (): void => exchange.fail(new ClientGone());
  asker.signal.addEventListener('abort', giveUp, { once: true });
  const timer = setTimeout(() => exchange.fail(tooSlow(host)), ports.timeoutMs ?? defaultTimeoutMs);
  try {
    run(ports, asker, question, exchange).catch((error: Error) => exchange.fail(error));
    await exchange.outcome;
    note(asker, 'ok');
    return 'answered';
  } catch (error) {
    note(asker, error instanceof Refusal ? error.code : 'no answer');
    if (error instanceof Refusal && error.code === 'upstream.closed' && !exchange.answered) return error;
    throw error;
  } finally {
    clearTimeout(timer);
    asker.signal.removeEventListener('abort', giveUp);
  }
}

/** Questions are part of what happened to the request: the journal shows them beside its stages. */
function note({ flow: { trail } }: Asker, outcome: string): void {
  if (trail.steps.length < maxNotes) trail.mark('question', outcome);
}

async function run(
  ports: AskPorts,
  asker: Asker,
  question: UpstreamQuestion,
  exchange: QuestionExchange,
): Promise<void> {
  const headers = HeaderList.from(question.headers).append('User-Agent', 'sallyport');
  if (question.body !== null) headers.append('Content-Length', String(question.body.length));
  const { operation, method } = question;
  const target = canonicalTarget(question.target);
  const flow = questionAbout(asker.flow, asker.permission, { operation, method, target, headers, exchange });
  await questionPath(ports, () => !exchange.hasFailed).run(flow);
  if (!exchange.isWhole) throw new Error('a question was forwarded and its answer never ended');
}

function consumerOf(
  head: ResponseHead,
  host: string,
  question: UpstreamQuestion,
  take: (chunk: Buffer) => Promise<void> | void,
): AnswerConsumer {
  if (head.status !== 200) return wordsOf(head, host, question);
  // Codings are not asked for: what came would not be what was counted.
  if (head.headers.has('content-encoding')) throw notAnAnswer(host, 'compressed its answer though it was not asked to');
  const types = head.headers.getAll('content-type');
  if (types.length !== 1 || !isOfType(types[0]!, question.answerType)) {
    throw notAnAnswer(
      host,
      'answered with something else than was asked for',
      new Error(`content type ${types.join(', ')}`),
    );
  }
  let bytes = 0;
  return {
    take: (chunk) => {
      bytes += chunk.length;
      if (bytes > question.maxAnswerBytes) {
        throw new GitWireError('too-large', `${host} answered with more than ${question.maxAnswerBytes} bytes`);
      }
      return take(chunk);
    },
    end: () => {},
  };
}

function isOfType(type: string, expected: string | RegExp): boolean {
  return typeof expected === 'string' ? type === expected : expected.test(type);
}

/** Reads as much of an unwelcome answer as an operator wants to see, and ends in the refusal that it amounts to. */
function wordsOf(head: ResponseHead, host: string, question: UpstreamQuestion): AnswerConsumer {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const end = (): never => {
    const words = Buffer.concat(pieces).subarray(0, maxWordsBytes).toString('utf8');
    const location = head.headers.get('location');
    const told = replaceUnseen(location === undefined ? words : `to ${location}: ${words}`, ' ');
    throw unwelcome(host, question, new AnsweredWithStatus(head.status, told));
  };
  return {
    take: (chunk) => {
      pieces.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxWordsBytes) end();
    },
    end,
  };
}

function unwelcome(host: string, { operation }: UpstreamQuestion, cause: AnsweredWithStatus): Refusal {
  const { status } = cause;
  const judged = operation === null ? 'this call' : 'this push';
  if (status === 401 || status === 403 || status === 404) {
    return new Refusal(
      'push.undecided',
      `${judged} cannot be judged: ${host} refused to answer the gateway's question about it (status ${status})`,
      {
        rule,
        hint: 'The operator must give the gateway a credential that may read this repository, not only write to it.',
        cause,
      },
    );
  }
  if (status >= 300 && status < 400) {
    const hint =
      operation === null
        ? 'Name the repository as it is called now.'
        : 'Push to the address that the repository has now: `git remote set-url` changes it.';
    return new Refusal(
      'push.undecided',
      `${judged} cannot be judged: ${host} says that the repository has moved (status ${status})`,
      { rule, hint, cause },
    );
  }
  return notAnAnswer(host, `answered a question about ${judged} with status ${status}`, cause);
}

function notAnAnswer(host: string, what: string, cause?: unknown): Refusal {
  return new Refusal('upstream.protocol', `${host} ${what}`, { cause });
}

function tooSlow(host: string): Refusal {
  return new Refusal('upstream.timeout', `${host} took too long to answer a question about this push`);
}
