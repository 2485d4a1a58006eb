// Attacks on another sandbox of the same gateway: it is alive, listens, and tells when it was reached.
import type { Attack } from '../attack.ts';
import { byName, httpRequest, throughProxy } from '../http-text.ts';
import {
  answered,
  held,
  hole,
  inWords,
  refusedInWords,
  stoppedByKernel,
  succeeds,
  unlessVisited,
  unproven,
} from '../judge.ts';
import { neighbourRepository, ownRepository, plainHost } from '../redteam-hosts.ts';
import { judgeProcess } from './processes.ts';

const ownLoopback = succeeds('a port of the own loopback is reached', () => [
  { do: 'connect', host: '127.0.0.1', port: 3128 },
]);

export const neighbourAttacks: readonly Attack[] = [
  {
    name: 'neighbour-port',
    area: 'neighbours',
    tried: "a port on the neighbour's loopback",
    control: ownLoopback,
    attempt: ({ neighbour }) => [{ do: 'connect', host: '127.0.0.1', port: neighbour.port }],
    judge: (facts) =>
      unlessVisited(facts, () => stoppedByKernel(facts, ['ECONNREFUSED'], 'nobody listens there in this namespace')),
  },
  {
    name: 'neighbour-abstract-socket',
    area: 'neighbours',
    tried: "the neighbour's abstract Unix socket",
    control: succeeds('an abstract socket of its own works', () => [{ do: 'listen-unix', path: '\0redteam-control' }]),
    attempt: ({ neighbour }) => [
      { do: 'unix', path: `\0${neighbour.abstractName}` },
      { do: 'listen-unix', path: `\0${neighbour.abstractName}` },
    ],
    judge: (facts) =>
      unlessVisited(facts, () => {
        const [visit, listen] = facts.observed;
        if (visit?.error === null) return hole('it answered');
        if (visit?.error !== 'ECONNREFUSED' || listen?.error !== null) return unproven(inWords(visit!));
        return held('ECONNREFUSED, and the name is free in this namespace');
      }),
  },
  {
    name: 'neighbour-process',
    area: 'neighbours',
    tried: "the neighbour's memory and environment",
    control: succeeds('the same of the own process works', () => [
      { do: 'open', path: '/proc/self/mem', flags: 'r' },
      { do: 'read', path: '/proc/self/environ' },
    ]),
    attempt: ({ neighbour: { pid } }) => [
      { do: 'open', path: `/proc/${pid}/mem`, flags: 'r' },
      { do: 'read', path: `/proc/${pid}/environ` },
      { do: 'readlink', path: `/proc/${pid}/ns/pid` },
    ],
    judge: (facts) => judgeProcess(facts, facts.ground.neighbour.pid),
  },
  {
    name: 'neighbour-shared-memory',
    area: 'neighbours',
    tried: "a file in the neighbour's shared memory",
    control: succeeds('a file of its own in shared memory works', () => [
      { do: 'write', path: '/dev/shm/redteam-control', text: 'x' },
      { do: 'read', path: '/dev/shm/redteam-control' },
    ]),
    attempt: ({ neighbour }) => [{ do: 'read', path: neighbour.sharedFile }],
    judge: (facts) => stoppedByKernel(facts, ['ENOENT'], 'it is there for the neighbour alone'),
  },
  {
    name: 'neighbour-identity',
    area: 'neighbours',
    tried: 'passing for the neighbour to reach its repository',
    control: answered('its own repository is reached the same way', () => [
      {
        do: 'send',
        way: throughProxy('api.github.com'),
        text: httpRequest('api.github.com', `/repos/${ownRepository}`),
      },
    ]),
    attempt: ({ neighbour }) => [
      {
        do: 'send',
        way: throughProxy('api.github.com'),
        text: httpRequest('api.github.com', `/repos/${neighbourRepository}`, {
          headers: {
            'Proxy-Authorization': `Basic ${Buffer.from(`${neighbour.id}:x`).toString('base64')}`,
            'X-Sallyport-Sandbox': neighbour.id,
            'X-Forwarded-For': '127.0.0.1',
          },
        }),
      },
    ],
    judge(facts) {
      const taken = facts.journal.find(({ sandbox }) => sandbox === facts.ground.neighbour.id);
      if (taken !== undefined) return hole(`journal ${taken.seq} has it as the neighbour's`);
      return refusedInWords(facts, /^(?:repo\.not-allowed|mismatch\.authority)$/);
    },
  },
  {
    name: 'neighbour-ca',
    area: 'neighbours',
    tried: "a certificate of the neighbour's CA for the own connections",
    control: answered('with the own CA the same connection is made', ({ ca }) => [
      { do: 'send', way: { ...byName(plainHost), tls: { name: plainHost, ca } }, text: httpRequest(plainHost, '/') },
    ]),
    attempt: ({ neighbour }) => [
      {
        do: 'send',
        way: { ...byName(plainHost), tls: { name: plainHost, ca: neighbour.ca } },
        text: httpRequest(plainHost, '/'),
      },
    ],
    judge({ observed: [connection] }) {
      const { error = '' } = connection ?? {};
      if (error === null) return hole("the neighbour's CA vouches for this sandbox's connections");
      const untrusted = /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|CERT_SIGNATURE_FAILURE/.test(error);
      return untrusted ? held(`${error}: each sandbox has a CA of its own`) : unproven(error);
    },
  },
];
