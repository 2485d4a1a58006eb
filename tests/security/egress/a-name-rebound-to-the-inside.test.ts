import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { parseHostPattern } from '../../../src/policy/host-pattern.ts';
import { Dialler } from '../../../src/stages/forward/dial/dial.ts';
import type { UpstreamAddress } from '../../../src/stages/forward/dial/find-upstream.ts';
import { handMadePolicy } from '../../support/hand-made-policy.ts';

interface Dial {
  readonly port: number;
  readonly addresses: readonly UpstreamAddress[];
}

type AskedLookup = (host: string, options: object, answer: (error: null, found: UpstreamAddress[]) => void) => void;

const dials = vi.hoisted((): Dial[] => []);

// No packet leaves this machine: what would be dialled is what the socket is given to resolve its name with.
vi.mock('node:net', async (original) => ({
  ...(await original<typeof import('node:net')>()),
  connect: (options: { host: string; port: number; lookup: AskedLookup }) => {
    const socket = new EventEmitter();
    options.lookup(options.host, {}, (_error, addresses) => dials.push({ port: options.port, addresses }));
    queueMicrotask(() => socket.emit('connect'));
    return socket;
  },
}));

beforeEach(() => {
  dials.length = 0;
});

const publicV4 = '93.184.216.34';
const publicV6 = '2606:2800:220:1::1';

/** Answers the n-th question with the n-th list, and the last one from then on. */
function diallerWith(...answers: string[][]) {
  const asked: string[] = [];
  const base = handMadePolicy({ allow: [{ host: 'pinned.example' }] });
  const pinned = parseHostPattern('pinned.example');
  if ('problem' in pinned) throw new Error(pinned.problem);
  const policy = {
    ...base,
    upstream: { ...base.upstream, resolve: [{ host: pinned.value, address: '127.0.0.1', port: 9443 }] },
  };
  const dialler = new Dialler({
    policy: () => policy,
    lookup: async (host) => {
      asked.push(host);
      const found = answers[Math.min(asked.length, answers.length) - 1]!;
      return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    instance: 'test',
    environmentRoots: [],
    onDial: () => {},
  });
  return { dialler, asked };
}

const inward = [
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['link-local', '169.254.1.1'],
  ['the metadata service', '169.254.169.254'],
  ['shared by carriers', '100.64.0.1'],
  ['a metadata service in there', '100.100.100.200'],
  ['the Azure agent', '168.63.129.16'],
  ['multicast', '224.0.0.1'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['this network', '0.0.0.0'],
  ['this network', '0.1.2.3'],
  ['benchmarks', '198.18.0.1'],
  ['documentation', '192.0.2.1'],
  ['IETF', '192.0.0.192'],
  ['loopback', '::1'],
  ['unspecified', '::'],
  ['mapped', '::ffff:10.0.0.1'],
  ['mapped loopback', '::ffff:7f00:1'],
  ['mapped public', '::ffff:93.184.216.34'],
  ['compatible', '::10.0.0.1'],
  ['NAT64', '64:ff9b::10.0.0.1'],
  ['NAT64 for local use', '64:ff9b:1::10.0.0.1'],
  ['6to4', '2002:a00:1::1'],
  ['Teredo', '2001:0:53aa:64c::1'],
  ['unique local', 'fc00::1'],
  ['a metadata service in there', 'fd00:ec2::254'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%lo'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['documentation', '2001:db8::1'],
  ['discard', '100::1'],
  ['not assigned', '4000::1'],
  ['not assigned', 'e000::1'],
  ['not assigned', '1::1'],
  ['no address', 'evil.example'],
] as const;

describe('a name that leads inwards leads nowhere', () => {
  test.each(inward)('%s: %s', async (_kind, address) => {
    const { dialler } = diallerWith([address]);
    await expect(dialler.open('rebound.example', 443, 'sbx')).rejects.toMatchObject({
      code: 'upstream.address-refused',
    });
    expect(dials).toEqual([]);
  });

  test('beside public addresses, only those are dialled', async () => {
    const { dialler } = diallerWith(['10.0.0.1', publicV4, '::1', publicV6, '169.254.169.254']);
    await dialler.open('mixed.example', 443, 'sbx');
    expect(dials.map((dial) => dial.addresses.map(({ address }) => address))).toEqual([[publicV4, publicV6]]);
  });

  test('a public answer first and a private one next: the look-up that was judged is the one that is dialled', async () => {
    const { dialler, asked } = diallerWith([publicV4], ['127.0.0.1']);
    await dialler.open('rebound.example', 443, 'sbx');
    expect(asked).toEqual(['rebound.example']);
    expect(dials).toEqual([{ port: 443, addresses: [{ address: publicV4, family: 4 }] }]);
    await expect(dialler.open('rebound.example', 443, 'sbx')).rejects.toMatchObject({
      code: 'upstream.address-refused',
    });
    expect(dials).toHaveLength(1);
  });

  test('a name without any address', async () => {
    const { dialler } = diallerWith([]);
    await expect(dialler.open('empty.example', 443, 'sbx')).rejects.toMatchObject({ code: 'upstream.address-refused' });
    expect(dials).toEqual([]);
  });

  test('the operator alone may send a name inwards, and no look-up is asked for it', async () => {
    const { dialler, asked } = diallerWith(['10.0.0.1']);
    await dialler.open('pinned.example', 443, 'sbx');
    expect(dials).toEqual([{ port: 9443, addresses: [{ address: '127.0.0.1', family: 4 }] }]);
    expect(asked).toEqual([]);
  });
});
