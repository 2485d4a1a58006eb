// Attacks on the network: addresses instead of names, ports without a door, the host's own services, and the door itself. Only
// addresses that are set aside for documentation are tried.
import type { Attack } from '../attack.ts';
import { byName, httpRequest, toAddress } from '../http-text.ts';
import {
  answered,
  brief,
  held,
  hole,
  inWords,
  refusedInWords,
  stoppedByKernel,
  succeeds,
  unlessVisited,
  unproven,
} from '../judge.ts';
import type { Probe } from '../probe.ts';
import { plainHost, providerHost } from '../redteam-hosts.ts';
import { allowedQuery } from './dns-query.ts';

const address4 = '203.0.113.5';
const address6 = '2001:db8::5';
const literal = /^(?:target\.literal-address|mismatch\.authority)$/;

const named = answered('the same request to an allowed name is answered', () => [
  { do: 'send', way: byName(plainHost), text: httpRequest(plainHost, '/') },
]);
const plainNamed = answered('the same request to an allowed name on port 80 is answered', () => [
  { do: 'send', way: { host: plainHost, port: 80 }, text: httpRequest(plainHost, '/') },
]);

function sendAttack(name: string, tried: string, control: Attack['control'], ...attempts: Probe[]): Attack {
  return {
    name,
    area: 'network',
    tried,
    control,
    attempt: () => attempts,
    judge: (facts) => refusedInWords(facts, literal),
  };
}

function ip(...args: string[]): Probe {
  return { do: 'run', argv: ['ip', ...args], env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' } };
}

function interfaceAttack(name: string, tried: string, ...attempts: Probe[]): Attack {
  return {
    name,
    area: 'network',
    tried,
    needs: ['ip'],
    control: succeeds('the same program shows what there is', () => [ip('address', 'show')]),
    attempt: () => attempts,
    judge({ observed }) {
      // What is asked for is there already, or not: the kernel says so only to those who may change it.
      const worked = observed.find(
        ({ exit, text }) => exit === 0 || /File exists|already assigned|No such (?:process|device)/.test(text),
      );
      if (worked !== undefined) return hole(`the kernel would do it: ${inWords(worked)}`);
      const other = observed.find(({ text }) => !/Operation not permitted|Permission denied/.test(text));
      return other === undefined ? held('EPERM: no capability over the network') : unproven(inWords(other));
    },
  };
}

const udpControl = succeeds('a datagram to the same address, port 53, is answered', () => [
  { do: 'datagram', host: address4, port: 53, hex: allowedQuery },
]);

export const networkAttacks: readonly Attack[] = [
  sendAttack('address-ipv4', 'an IPv4 address instead of a name, over TLS', named, {
    do: 'send',
    way: toAddress(address4, null),
    text: httpRequest(address4, '/'),
  }),
  sendAttack('address-ipv6', 'an IPv6 address instead of a name, over TLS', named, {
    do: 'send',
    way: toAddress(address6, null),
    text: httpRequest(`[${address6}]`, '/'),
  }),
  sendAttack(
    'address-plain',
    'addresses instead of a name, without TLS',
    plainNamed,
    { do: 'send', way: { host: address4, port: 80 }, text: httpRequest(address4, '/') },
    { do: 'send', way: { host: address6, port: 80 }, text: httpRequest(`[${address6}]`, '/') },
  ),
  sendAttack(
    'address-under-allowed-name',
    'a foreign address under the name of an allowed host',
    named,
    { do: 'send', way: toAddress(address4, plainHost), text: httpRequest(plainHost, '/') },
    { do: 'send', way: toAddress(address6, plainHost), text: httpRequest(plainHost, '/') },
    { do: 'send', way: { host: address4, port: 80 }, text: httpRequest(plainHost, '/') },
  ),
  sendAttack('address-of-another-name', "an allowed host under another allowed host's address", named, {
    do: 'send',
    way: { host: plainHost, port: 443, tls: { name: providerHost, verify: false } },
    text: httpRequest(providerHost, '/'),
  }),
  {
    name: 'interfaces',
    area: 'network',
    tried: 'an interface that leads out',
    control: succeeds('interfaces are listed', () => [{ do: 'read', path: '/proc/net/dev' }]),
    attempt: () => [
      { do: 'read', path: '/proc/net/dev' },
      { do: 'readlink', path: '/proc/self/ns/net' },
    ],
    judge({ observed: [list, space], ground }) {
      if (space?.text === ground.hostNamespaces.net) return hole('the sandbox has the network namespace of the host');
      const names = [...(list?.text ?? '').matchAll(/^\s*([^\s:|]+):/gm)].map(([, name]) => name);
      if (names.length === 1 && names[0] === 'lo') return held(`only lo, in a namespace of its own (${space?.text})`);
      return names.length === 0 ? unproven('none is listed') : hole(`there is ${names.join(', ')}`);
    },
  },
  {
    name: 'other-ports',
    area: 'network',
    tried: 'ports without a door: ssh, mail, databases, DNS over TLS',
    control: succeeds('port 443 of the same address is open to the door', () => [
      { do: 'connect', host: address4, port: 443 },
    ]),
    attempt: () => [22, 25, 853, 5432, 8443].map((port): Probe => ({ do: 'connect', host: address4, port })),
    judge: (facts) => stoppedByKernel(facts, ['ECONNREFUSED'], 'the address is local and has no door there'),
  },
  {
    name: 'udp',
    area: 'network',
    tried: 'datagrams: QUIC on 443, NTP, and what listens on the host',
    control: udpControl,
    attempt: ({ servicePort }) => [
      { do: 'datagram', host: address4, port: 443, hex: '00' },
      { do: 'datagram', host: address4, port: 123, hex: '00' },
      { do: 'datagram', host: '127.0.0.1', port: servicePort, hex: '00' },
    ],
    judge: (facts) =>
      unlessVisited(facts, () => stoppedByKernel(facts, ['ECONNREFUSED'], 'nobody listens there in this namespace')),
  },
  {
    name: 'host-loopback',
    area: 'network',
    tried: "a service on the host's loopback",
    control: succeeds('the own loopback is reached the same way', () => [
      { do: 'connect', host: '127.0.0.1', port: 3128 },
    ]),
    attempt: ({ servicePort }) => [
      { do: 'connect', host: '127.0.0.1', port: servicePort },
      { do: 'connect', host: '::1', port: servicePort },
    ],
    judge: (facts) =>
      unlessVisited(facts, () => stoppedByKernel(facts, ['ECONNREFUSED'], 'it listens outside, nobody does inside')),
  },
  {
    name: 'door-hijack',
    area: 'network',
    tried: 'listening in place of the door on 53, 80, 443 and 3128',
    control: succeeds('another port can be listened on', () => [{ do: 'listen', host: '127.0.0.1', port: 18_443 }]),
    attempt: () =>
      [53, 80, 443, 3128].flatMap((port): Probe[] => [
        { do: 'listen', host: '0.0.0.0', port },
        { do: 'listen', host: '127.0.0.1', port },
      ]),
    judge: (facts) => stoppedByKernel(facts, ['EADDRINUSE', 'EACCES'], 'the ports are taken by the door'),
  },
  interfaceAttack('add-address', 'an address of its own', ip('address', 'add', '127.0.0.1/8', 'dev', 'lo')),
  interfaceAttack(
    'change-routes',
    'other routes',
    ip('route', 'add', 'local', '127.0.0.0/8', 'dev', 'lo', 'table', 'local', 'src', '127.0.0.1'),
    ip('route', 'del', '192.0.2.0/24', 'dev', 'lo'),
  ),
  interfaceAttack(
    'add-interface',
    'an interface of its own',
    ip('link', 'add', 'lo', 'type', 'dummy'),
    ip('link', 'set', 'dev', 'lo', 'mtu', '65536'),
  ),
  {
    name: 'namespace-of-the-host',
    area: 'network',
    tried: "entering the host's network by /proc/1/ns and the gateway's",
    needs: ['nsenter'],
    control: succeeds('the program is there', () => [{ do: 'run', argv: ['nsenter', '--version'] }]),
    attempt: ({ gatewayPid }) => [
      { do: 'run', argv: ['nsenter', '--net', `--target=${gatewayPid}`, 'true'] },
      { do: 'run', argv: ['nsenter', '--net', '--target=1', 'true'] },
    ],
    judge({ observed }) {
      const worked = observed.find(({ exit }) => exit === 0);
      if (worked !== undefined) return hole('it was entered');
      const other = observed.find(({ text }) => !/No such file|not permitted|Permission denied/.test(text));
      return other === undefined ? held(observed.map(({ text }) => brief(text)).join('; ')) : unproven(inWords(other));
    },
  },
];
