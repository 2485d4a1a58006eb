// Command streams of pushes for the differential and fuzz tests: put together from parts, among them the parts that
// a second reading hides in, then damaged. Everything follows from a seed; nothing here parses.
import { createHash } from 'node:crypto';
import { encodePkt, flushPkt } from '../../src/protocols/git/pkt-line.ts';
import type { Random } from './http1-corpus.ts';

const ZERO = '0'.repeat(40);
const OTHER = '5'.repeat(40);

const int = (random: Random, below: number): number => Math.floor(random() * below);
const pick = <T>(random: Random, from: readonly T[]): T => from[int(random, from.length)]!;
const chance = (random: Random, probability: number): boolean => random() < probability;

const plainNames = ['refs/heads/a', 'refs/heads/b', 'refs/heads/c/d', 'refs/tags/v1', 'refs/heads/é'];
const strangeNames = ['refs/heads/a', 'refs/heads/b', 'HEAD', 'refs/heads/a b', 'refs/heads/a..b', 'refs/stash', 'a/b'];
const capabilityWords = [
  'report-status',
  'report-status-v2',
  'side-band-64k',
  'quiet',
  'atomic',
  'push-options',
  'object-format=sha1',
  'agent=x/1',
];
const strangeWords = ['delete-refs', 'push-options=1', 'object-format=sha256', 'frotz', 'agent'];
const separators = ['  ', '\t', '\n', '\0', '\0 '];
const strangeEnds = ['\n\n', '\0', ' ', '\r', '\0 push-options'];

/** A pack of nothing: enough for refs that lead to commits the server has. */
export const emptyPack = ((): Buffer => {
  const head = Buffer.from('5041434b0000000200000000', 'hex');
  return Buffer.concat([head, createHash('sha1').update(head).digest()]);
})();

/** How much of a stream is odd: none of it, a little, or anything goes. */
class Odds {
  readonly random: Random;
  readonly #level: number;

  constructor(random: Random) {
    this.random = random;
    this.#level = pick(random, [0, 0.4, 1.5]);
  }

  odd(probability: number): boolean {
    return chance(this.random, probability * this.#level);
  }

  /** One of `plain`, or rarely one of `strange`. */
  of<T>(plain: readonly T[], strange: readonly T[], probability: number): T {
    return pick(this.random, this.odd(probability) ? strange : plain);
  }
}

/** `known` is a commit the server has. */
export function pushStream(random: Random, known: string): Buffer {
  const odds = new Odds(random);
  const lines: Buffer[] = [];
  const shallow = encodePkt(`shallow ${known}`);
  if (chance(random, 0.1)) lines.push(shallow);
  const words = Array.from({ length: int(random, 4) }, () => odds.of(capabilityWords, strangeWords, 0.1));
  const list = [...new Set(words)].reduce((text, word) => `${text}${odds.of([' '], separators, 0.1)}${word}`, '');
  const names = shuffled(random, plainNames);
  const commands = Array.from({ length: 1 + int(random, 3) }, (_, i) => commandLine(odds, known, names[i]!));
  const signed = chance(random, 0.12);
  if (signed) lines.push(...certificate(odds, known, commands, list));
  const unsigned = signed && !odds.odd(0.2) ? [] : commands;
  for (const [i, text] of unsigned.entries()) {
    const withList = i === 0 ? !odds.odd(0.1) : odds.odd(0.1);
    lines.push(encodePkt(`${text}${withList ? `\0${list}` : ''}${odds.of(['', '\n'], strangeEnds, 0.1)}`));
  }
  if (odds.odd(0.05)) lines.splice(int(random, lines.length + 1), 0, shallow);
  const stop = odds.odd(0.05) ? Buffer.from(pick(random, ['0001', '0002', '0003', '0004'])) : flushPkt;
  const withOptions = words.some((word) => word.startsWith('push-options')) !== odds.odd(0.05);
  const options = withOptions ? [...pushOptions(odds), flushPkt] : [];
  const withPack = commands.some((text) => text.includes(` ${known} `)) !== odds.odd(0.1);
  const bytes = Buffer.concat([...lines, stop, ...options, withPack ? emptyPack : Buffer.alloc(0)]);
  return odds.odd(0.2) ? damage(random, bytes) : bytes;
}

function commandLine(odds: Odds, known: string, name: string): string {
  const plainIds = [`${ZERO} ${known}`, `${known} ${ZERO}`];
  const strangeIds = [`${ZERO} ${ZERO}`, `${known.toUpperCase()} ${ZERO}`, `${known}  ${ZERO}`, `${OTHER} ${ZERO}`];
  return `${odds.of(plainIds, strangeIds, 0.1)} ${odds.of([name], strangeNames, 0.1)}`;
}

function certificate(odds: Odds, known: string, commands: readonly string[], list: string): Buffer[] {
  const signature = ['-----BEGIN SSH SIGNATURE-----\n', 'U1NI\n', '-----END SSH SIGNATURE-----\n'];
  const again = odds.odd(0.3) ? [`${commandLine(odds, known, 'refs/heads/again')}\n`, ...signature] : [];
  const early = odds.odd(0.1) ? signature : [];
  const body = [...commands.map((text) => `${text}\n`), ...signature, ...again];
  const close = odds.odd(0.1) ? [] : ['push-cert-end\n'];
  const lines = ['certificate version 0.1\n', ...early, 'pusher x 1 +0000\n', '\n', ...body, ...close];
  return [`push-cert\0${list}`, ...lines].map(encodePkt);
}

function pushOptions(odds: Odds): Buffer[] {
  return Array.from({ length: int(odds.random, 3) }, () =>
    encodePkt(odds.of(['a', 'b=c', 'd\n', ''], ['e\0f', 'g\nh', 'i\n\n'], 0.15)),
  );
}

function shuffled<T>(random: Random, from: readonly T[]): T[] {
  return from
    .map((value) => ({ value, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value);
}

/** Some bytes changed, some taken out, some put in. */
export function damage(random: Random, bytes: Buffer): Buffer {
  let damaged = Buffer.from(bytes);
  for (let i = 1 + int(random, 3); i > 0; i--) {
    const at = int(random, damaged.length);
    const drop = int(random, 3);
    const put = Buffer.from(
      Array.from({ length: int(random, 3) }, () => pick(random, [0, 10, 32, 48, 49, 102, int(random, 256)])),
    );
    damaged = Buffer.concat([damaged.subarray(0, at), put, damaged.subarray(at + drop)]);
  }
  return damaged;
}
