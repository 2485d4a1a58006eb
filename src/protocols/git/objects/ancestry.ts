// Whether a push only adds to a branch: is the old tip an ancestor of the new one? Walks the commits in the pack;
// where the walk leaves it, the server is asked. Never answers yes without a path of parents from new to old.
import { GitWireError } from '../git-wire-error.ts';
import { OverBudget, WorkBudget } from './work-budget.ts';

export type Ancestry = 'fast-forward' | 'not-fast-forward';

interface Parents {
  readonly parents: readonly string[];
}

export interface AncestryLimits {
  /** Questions to the server in one push: each is a request. */
  readonly maxQuestions: number;
  /** Commits walked over in one push, for all its refs together. */
  readonly maxSteps: number;
}

const defaultAncestryLimits: AncestryLimits = { maxQuestions: 64, maxSteps: 2_000_000 };
/** What a step costs, and each parent that is looked at on the way; and what a commit takes in the list of those seen. */
export const STEP_BYTES = 256;
export const PARENT_BYTES = 64;
export const SEEN_BYTES = 120;

export interface AncestryInput {
  readonly oldId: string;
  readonly newId: string;
  /** A commit of the pack; null for one that is not in it. */
  readonly commits: (oid: string) => Parents | null;
  /** Is `old` an ancestor of `b`, a commit that the server has? An error means that it cannot be known. */
  readonly boundary: (b: string, old: string) => Promise<boolean>;
  /** Shared by all refs of one push. */
  readonly memo?: AncestryMemo;
}

/** What the refs of one push share: answers that were given, and what may still be spent. */
export class AncestryMemo {
  readonly #answers = new Map<string, boolean>();
  readonly #limits: AncestryLimits;
  /** What is held for one walk. */
  readonly budget: WorkBudget;
  #questions = 0;
  #steps = 0;

  constructor(limits: Partial<AncestryLimits> = {}, budget = new WorkBudget()) {
    this.#limits = { ...defaultAncestryLimits, ...limits };
    this.budget = budget;
  }

  async ask(b: string, old: string, boundary: AncestryInput['boundary']): Promise<boolean> {
    const key = `${b} ${old}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    if (++this.#questions > this.#limits.maxQuestions) {
      throw new GitWireError(
        'too-large',
        `whether this push rewrites history takes more than ${this.#limits.maxQuestions} questions to the server; push fewer refs at once`,
      );
    }
    const answer = await boundary(b, old);
    this.#answers.set(key, answer);
    return answer;
  }

  step(): void {
    if (++this.#steps > this.#limits.maxSteps) {
      throw new OverBudget(`whether this push rewrites history takes more than ${this.#limits.maxSteps} steps`);
    }
  }
}

export async function isFastForward(input: AncestryInput): Promise<Ancestry> {
  const { oldId, newId, commits, boundary } = input;
  const memo = input.memo ?? new AncestryMemo();
  const leaving = await walkBack(newId, oldId, commits, memo);
  if (leaving === 'reached') return 'fast-forward';
  for (const b of leaving) {
    if (await memo.ask(b, oldId, boundary)) return 'fast-forward';
  }
  return 'not-fast-forward';
}

/**
 * The answer to a boundary question, from one fetch of `want b`, `have old` with no trees: the server returns the
 * commits reachable from b and not from old. All commits on a path from b down to old are among them, so old is an
 * ancestor of b exactly when the path can be walked. Their ids must have been computed from their content.
 */
export async function boundaryAnswer(
  returned: ReadonlyMap<string, Parents>,
  b: string,
  old: string,
  memo = new AncestryMemo(),
): Promise<boolean> {
  return (await walkBack(b, old, (oid) => returned.get(oid) ?? null, memo)) === 'reached';
}

/** The commits outside the pack on which the walk from `from` ends, or that it has met `target`. */
async function walkBack(
  from: string,
  target: string,
  commits: AncestryInput['commits'],
  memo: AncestryMemo,
): Promise<'reached' | readonly string[]> {
  const budget = memo.budget.part();
  const seen = new Set([from]);
  const leaving: string[] = [];
  const open = [from];
  try {
    for (let oid = open.pop(); oid !== undefined; oid = open.pop()) {
      if (oid === target) return 'reached';
      memo.step();
      const parents = commits(oid)?.parents;
      budget.spend(STEP_BYTES + PARENT_BYTES * (parents?.length ?? 0));
      if (budget.isTurnDue) await budget.turn();
      if (parents === undefined) leaving.push(oid);
      for (const parent of parents ?? []) {
        if (seen.has(parent)) continue;
        budget.hold(SEEN_BYTES);
        seen.add(parent);
        open.push(parent);
      }
    }
    return leaving;
  } finally {
    budget.close();
  }
}
