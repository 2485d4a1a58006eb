// Makes the attacks one after the other, each with its control experiment first, and judges them by what both sides saw. One at
// a time, so that whatever arrives outside belongs to the attack that is being made.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { placesIn } from '../../kit/files/home.ts';
import type { Attack, AttackFinding, Facts, JournalRecord } from './attack.ts';
import { AttackerGone } from './attacker.ts';
import type { Ground } from './ground.ts';
import { findBait, unproven } from './judge.ts';
import type { PreparedGround } from './prepare-ground.ts';
import type { Observation } from './probe.ts';

export interface AttackResult extends AttackFinding {
  readonly name: string;
  readonly area: Attack['area'];
  readonly tried: string;
  readonly ms: number;
}

/** The journal is written a moment after the answer. */
const settleMs = 40;
const maxSettles = 12;

export class AttackRun {
  readonly #prepared: PreparedGround;
  readonly #journal: JournalEvidence;
  /** Controls are made once: by their words, which are theirs alone. */
  readonly #controls = new Map<string, Promise<Observation[]>>();

  constructor(prepared: PreparedGround) {
    this.#prepared = prepared;
    this.#journal = new JournalEvidence(placesIn(prepared.ground.gatewayHome).journalDirectory);
  }

  async make(attack: Attack): Promise<AttackResult> {
    const { name, area, tried } = attack;
    const startedMs = performance.now();
    let finding: AttackFinding;
    try {
      finding = await this.#find(attack);
    } catch (error) {
      if (error instanceof AttackerGone) finding = unproven(error.message);
      else finding = unproven(`it could not be judged: ${error instanceof Error ? error.message : String(error)}`);
    }
    return { name, area, tried, ...finding, ms: Math.round(performance.now() - startedMs) };
  }

  async #find(attack: Attack): Promise<AttackFinding> {
    const { ground } = this.#prepared;
    const missing = whyMissing(attack, ground);
    if (missing !== null) return { verdict: 'not run', evidence: missing };
    const control = await this.#control(attack);
    const instead = attack.control.fails(control);
    if (instead !== null) {
      return unproven(`the test itself does not work here (${attack.control.shows}: ${instead})`);
    }
    return this.#attempt(attack, control);
  }

  #control({ control }: Attack): Promise<Observation[]> {
    const key = `${control.shows} ${JSON.stringify(control.probes(this.#prepared.ground))}`;
    const known = this.#controls.get(key);
    if (known !== undefined) return known;
    const made = this.#prepared.attacker.attempt(control.probes(this.#prepared.ground));
    this.#controls.set(key, made);
    return made;
  }

  async #attempt(attack: Attack, control: readonly Observation[]): Promise<AttackFinding> {
    const { ground, attacker, world, github, visited } = this.#prepared;
    const seq = this.#journal.after(0).at(-1)?.seq ?? 0;
    const [seenBefore, visitedBefore] = [world.seen.length, visited.length];
    const refsBefore = attack.looksAt === 'refs' ? await github.git.refs() : '';
    const probes = attack.attempt(ground);
    const observed = await attacker.attempt(probes);
    if (probes.length === 0 || observed.length !== probes.length) return unproven('not everything was tried');
    for (let settled = 0; ; settled++) {
      await sleep(settled === 0 ? 5 : settleMs);
      const facts: Facts = {
        ground,
        observed,
        control,
        seen: world.seen.slice(seenBefore).filter(({ headers }) => headers['user-agent'] !== 'sallyport'),
        journal: this.#journal.after(seq),
        visited: visited.slice(visitedBefore),
        journalBreak: attack.looksAt === 'journal' ? this.#journal.chainBreak() : null,
        refs: { before: refsBefore, after: attack.looksAt === 'refs' ? await github.git.refs() : '' },
      };
      const finding = findBait(facts) ?? attack.judge(facts);
      if (finding.verdict !== 'unproven' || settled === maxSettles) return finding;
    }
  }
}

function whyMissing(attack: Attack, ground: Ground): string | null {
  const tool = attack.needs?.find((name) => !ground.tools.has(name));
  return tool === undefined ? (attack.missing?.(ground) ?? null) : `there is no ${tool} in the sandbox`;
}

// The journal as evidence, read from its files without the gateway, which must not vouch for itself. Checks that each record
// names the hash of the one before it.
export class JournalEvidence {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Records with a higher number. */
  after(seq: number): JournalRecord[] {
    return this.#lines().flatMap((line) => {
      const record = parse(line);
      return record === null || record.seq <= seq ? [] : [record];
    });
  }

  /** Null: the chain holds. Otherwise where it breaks. */
  chainBreak(): string | null {
    const lines = this.#lines();
    for (const [i, line] of lines.entries()) {
      const link = parse(line);
      if (link === null) return `record ${i + 1} cannot be read`;
      const before = i === 0 ? null : lines[i - 1]!;
      if (before === null) continue;
      const prev = createHash('sha256').update(before).digest('hex');
      if (link.prev !== prev) return `record ${link.seq} does not follow the one before it`;
    }
    return null;
  }

  /** Whole lines in the order in which they were written. */
  #lines(): string[] {
    const files = readdirSync(this.#folder).filter((name) => name.endsWith('.jsonl'));
    return files.sort().flatMap((name) => {
      const text = readFileSync(join(this.#folder, name), 'utf8');
      return text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .slice(0, -1);
    });
  }
}

/** Notes of the journal about itself have no verdict and are left out by their reader. */
function parse(line: string): (JournalRecord & { readonly prev: string }) | null {
  try {
    const value = JSON.parse(line) as Partial<JournalRecord & { prev: string }>;
    if (typeof value.seq !== 'number' || typeof value.prev !== 'string') return null;
    return {
      seq: value.seq,
      prev: value.prev,
      sandbox: value.sandbox ?? null,
      host: value.host ?? '',
      path: value.path ?? '',
      verdict: value.verdict ?? 'note',
      code: value.code ?? null,
    };
  } catch {
    return null;
  }
}
