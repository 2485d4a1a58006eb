// How a refusal is proven, in one place: by our own answer, a record in the journal, or a kernel error from a wall we set up,
// and by nothing having arrived on the other side. "Connection failed" is never a pass.
import { shortened } from '../../kit/text/unseen.ts';
import type { AttackFinding, AttackVerdict, Control, Facts } from './attack.ts';
import type { Observation } from './probe.ts';

export const held = (evidence: string): AttackFinding => ({ verdict: 'held', evidence });
export const hole = (evidence: string): AttackFinding => ({ verdict: 'hole', evidence });
export const unproven = (evidence: string): AttackFinding => ({ verdict: 'unproven', evidence });

/** The head and body of an HTTP answer as it came. */
export interface ProbeAnswer {
  readonly status: number;
  /** The code of our own refusal; null: the answer is not ours. */
  readonly refused: string | null;
  readonly head: string;
  readonly body: string;
}

export function readAnswer(text: string): ProbeAnswer | null {
  const status = /^HTTP\/[\d.]+ (\d{3})/.exec(text);
  if (status === null) return null;
  const end = text.indexOf('\r\n\r\n');
  const head = end < 0 ? text : text.slice(0, end);
  const refused = /^x-sallyport-refused: *(\S+)/im.exec(head);
  return { status: Number(status[1]), refused: refused?.[1] ?? null, head, body: end < 0 ? '' : text.slice(end + 4) };
}

/** One line, short enough to print. */
export function brief(text: string): string {
  const line = [...text.slice(0, 300)].map((c) => (c < ' ' || c > '~' ? ' ' : c)).join('');
  return shortened(line.replace(/ +/g, ' ').trim(), 100);
}

/** What one observation amounts to, in few words. */
export function inWords({ error, text, exit }: Observation): string {
  const answer = readAnswer(text);
  if (answer !== null) return `${answer.status}${answer.refused === null ? '' : ` ${answer.refused}`}`;
  if (error !== null) return text === '' ? error : `${error}: ${brief(text)}`;
  return text === '' ? `ok${exit === null ? '' : ` (exit ${exit})`}` : brief(text);
}

/** Every answer is a refusal of ours under one of these codes, and nothing arrived. */
export function refusedInWords(facts: Facts, codes: RegExp): AttackFinding {
  if (facts.seen.length > 0) return hole(arrived(facts));
  for (const observation of facts.observed) {
    const answer = readAnswer(observation.text);
    if (answer === null) return fromJournal(facts, codes, inWords(observation));
    if (answer.refused === null) {
      const said = `answered ${answer.status} without a refusal of ours: ${brief(answer.body)}`;
      return answer.status < 400 ? hole(said) : unproven(said);
    }
    if (!codes.test(answer.refused)) return unproven(`refused, but as ${answer.refused}`);
  }
  return held([...new Set(facts.observed.map(inWords))].join(', '));
}

/** A refusal that the client cannot see (a closed connection) counts when the journal has it. */
export function fromJournal(facts: Facts, codes: RegExp, otherwise: string): AttackFinding {
  if (facts.seen.length > 0) return hole(arrived(facts));
  const record = facts.journal.find(({ code }) => code !== null && codes.test(code));
  if (record === undefined) return unproven(`${otherwise}; the journal has no refusal of it`);
  return held(`journal ${record.seq}: ${record.code} ${record.host} (${brief(otherwise)})`);
}

export function arrived({ seen }: Facts): string {
  return `arrived at the other side: ${seen.map(({ method, host, url }) => `${method} ${host}${url}`).join(', ')}`;
}

/** Nobody outside was visited; then what `finding` says. */
export function unlessVisited(facts: Facts, finding: () => AttackFinding): AttackFinding {
  return facts.visited.length > 0 ? hole(`reached ${facts.visited.join(', ')}`) : finding();
}

/** Every observation is an error of the kernel out of these; `because` says which wall that is. */
export function stoppedByKernel(facts: Facts, errors: readonly string[], because: string): AttackFinding {
  for (const observation of facts.observed) {
    if (observation.error === null) return hole(`it worked: ${inWords(observation)}`);
    if (!errors.includes(observation.error)) return unproven(`failed with ${inWords(observation)}`);
  }
  return held(`${[...new Set(facts.observed.map(({ error }) => error))].join(', ')}: ${because}`);
}

/** A control that holds when every one of its probes succeeds. */
export function succeeds(shows: string, probes: Control['probes']): Control {
  return {
    shows,
    probes,
    fails: (observed) => observed.filter(({ error }) => error !== null).map(inWords)[0] ?? null,
  };
}

/** A control that holds when every probe is answered below 400, and not by us. */
export function answered(shows: string, probes: Control['probes']): Control {
  return {
    shows,
    probes,
    fails(observed) {
      for (const observation of observed) {
        const answer = readAnswer(observation.text);
        if (answer === null || answer.status >= 400 || answer.refused !== null) return inWords(observation);
      }
      return null;
    },
  };
}

/** Whatever an attack was about: a planted secret that shows up inside is a hole. */
export function findBait(facts: Facts): AttackFinding | null {
  for (const { text, error } of [...facts.observed, ...facts.control]) {
    // As it came, and without the lengths between the chunks of a body.
    const said = `${text}\n${text.replace(/\r\n[0-9a-f]+\r\n/gi, '')}\n${error ?? ''}`;
    for (const { secret, about } of facts.ground.baits) {
      if (said.includes(secret)) return hole(`${about} was read inside`);
      // An upstream or a tool may have wrapped it.
      if (inBase64(secret).some((form) => said.includes(form))) return hole(`${about} was read inside, in base64`);
    }
  }
  return null;
}

/** What a text looks like in the middle of something encoded, at each of the three offsets. */
export function inBase64(text: string): string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).toString('base64');
    return encoded.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + text.length) * 8) / 6) - 1);
  });
}

export function countVerdicts(findings: readonly { readonly verdict: AttackVerdict }[]): Record<AttackVerdict, number> {
  const counts: Record<AttackVerdict, number> = { held: 0, hole: 0, unproven: 0, 'not run': 0 };
  for (const { verdict } of findings) counts[verdict] += 1;
  return counts;
}
