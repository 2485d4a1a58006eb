// Attacks on the evidence: the journal must not be written, read or confused from inside.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Attack } from '../attack.ts';
import type { Ground } from '../ground.ts';
import { httpRequest, plainProxy } from '../http-text.ts';
import { answered, held, hole, inWords, succeeds, unproven } from '../judge.ts';
import type { Probe } from '../probe.ts';
import { foreignHost, plainHost } from '../redteam-hosts.ts';
import { harmlessFile, hiddenInside } from './files.ts';

const journalFiles = ({ gatewayHome }: Ground): string[] =>
  readdirSync(join(gatewayHome, 'journal')).map((name) => join(gatewayHome, 'journal', name));

/** What a forged record would look like, in a place where it could end up in the journal. */
const forged = '%0a%7b%22seq%22%3a1%2c%22verdict%22%3a%22allowed%22%7d%0a';

const floodSize = 350;

/** On one connection, which the last of them closes. */
function flood(): string {
  const path = `/${'%E6%BC%A2'.repeat(300)}`;
  const one = (connection: string): string =>
    httpRequest(foreignHost, `http://${foreignHost}${path}`, { headers: { Connection: connection } });
  return one('keep-alive').repeat(floodSize - 1) + one('close');
}

export const evidenceAttacks: readonly Attack[] = [
  {
    name: 'journal-files',
    area: 'evidence',
    tried: 'opening the journal for writing, and removing it',
    looksAt: 'journal',
    control: succeeds('a file of the working directory is opened for writing', ({ workingDirectory }) => [
      { do: 'open', path: join(workingDirectory, harmlessFile), flags: 'r+' },
    ]),
    attempt: (ground) => journalFiles(ground).map((path): Probe => ({ do: 'open', path, flags: 'r+' })),
    judge(facts) {
      if (facts.observed.some(({ error }) => error === null)) return hole('it was opened for writing');
      if (facts.journalBreak !== null) return hole(`the chain is broken: ${facts.journalBreak}`);
      return hiddenInside(facts, journalFiles(facts.ground));
    },
  },
  {
    name: 'journal-forgery',
    area: 'evidence',
    tried: 'requests whose path, host and fields would forge or break records',
    looksAt: 'journal',
    control: answered('a plain request is recorded and answered', () => [
      { do: 'send', way: plainProxy, text: httpRequest(plainHost, `http://${plainHost}/`) },
    ]),
    attempt: () => [
      { do: 'send', way: plainProxy, text: httpRequest(plainHost, `http://${plainHost}/a?${forged}=1`) },
      { do: 'send', way: plainProxy, text: httpRequest(foreignHost, `http://${foreignHost}/"},{"seq":1`) },
      { do: 'send', way: plainProxy, text: httpRequest(foreignHost, `http://${foreignHost}/\u00ff\u0001\\`) },
      { do: 'send', way: plainProxy, text: httpRequest(foreignHost, `http://${foreignHost}/${'a'.repeat(4_000)}`) },
    ],
    judge(facts) {
      if (facts.journalBreak !== null) return hole(`the chain is broken: ${facts.journalBreak}`);
      if (facts.journal.length < facts.observed.length) {
        return unproven(
          `${facts.journal.length} records of ${facts.observed.length} requests: ${inWords(facts.observed[0]!)}`,
        );
      }
      const numbers = facts.journal.map(({ seq }) => seq);
      const isInOrder = numbers.every((seq, i) => i === 0 || seq === numbers[i - 1]! + 1);
      return isInOrder ? held(`${numbers.length} records in order, the chain holds`) : hole('records are out of order');
    },
  },
  {
    // The last of all: what comes after it would be counted among its refusals.
    name: 'journal-flood',
    area: 'evidence',
    tried: `${floodSize} refused requests with long paths at once, to fill the journal of all`,
    looksAt: 'journal',
    control: answered('a plain request is recorded and answered', () => [
      { do: 'send', way: plainProxy, text: httpRequest(plainHost, `http://${plainHost}/`) },
    ]),
    attempt: () => [{ do: 'send', way: plainProxy, text: flood() }],
    judge(facts) {
      if (facts.journalBreak !== null) return hole(`the chain is broken: ${facts.journalBreak}`);
      const answers = facts.observed[0]!.text.split('HTTP/1.1 403').length - 1;
      const records = facts.journal.filter(({ host }) => host === foreignHost).length;
      if (answers < floodSize || records === 0)
        return unproven(`${answers} of ${floodSize} requests were refused in words: ${inWords(facts.observed[0]!)}`);
      return records < floodSize
        ? held(`${answers} refusals are ${records} records, the chain holds`)
        : hole(`each of ${answers} refusals has its record: a sandbox can fill the journal`);
    },
  },
];
