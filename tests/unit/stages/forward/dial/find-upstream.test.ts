import { describe, expect, test } from 'vitest';
import { parseHostPattern } from '../../../../../src/policy/host-pattern.ts';
import {
  type AddressLookup,
  pinnedUpstream,
  resolveUpstream,
} from '../../../../../src/stages/forward/dial/find-upstream.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const answering =
  (...addresses: string[]): AddressLookup =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

function policyWith(resolve: Record<string, { address: string; port: number | null }>) {
  const policy = handMadePolicy({});
  return {
    ...policy,
    upstream: {
      ...policy.upstream,
      resolve: Object.entries(resolve).map(([text, target]) => {
        const host = parseHostPattern(text);
        if ('problem' in host) throw new Error(host.problem);
        return { host: host.value, ...target };
      }),
    },
  };
}

describe('a name is resolved, its addresses judged, and only those handed out that passed', () => {
  test('in the order they came', async () => {
    const found = await resolveUpstream('a.example', 443, answering('2606:4700::1', '10.0.0.1', '1.1.1.1'));
    expect(found).toEqual({
      addresses: [
        { address: '2606:4700::1', family: 6 },
        { address: '1.1.1.1', family: 4 },
      ],
      port: 443,
    });
  });

  test('none left: the sandbox is told what to do, the operator what was found', async () => {
    const refused = await resolveUpstream('a.example', 443, answering('10.0.0.1', '::1')).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: 'upstream.address-refused', rule: 'built-in: public addresses only' });
    const { message, hint, cause } = refused as { message: string; hint: string; cause: Error };
    expect(`${message}${hint}`).not.toContain('10.0.0.1');
    expect(cause.message).toBe('resolved to 10.0.0.1 (private), ::1 (loopback)');
  });

  test('a name that does not resolve', async () => {
    const failing: AddressLookup = async () => {
      throw new Error('ENOTFOUND');
    };
    await expect(resolveUpstream('a.example', 443, failing)).rejects.toMatchObject({ code: 'upstream.unresolved' });
  });
});

describe('upstream.resolve is the word of the operator', () => {
  const policy = policyWith({
    'a.example': { address: '127.0.0.1', port: 9443 },
    'b.example': { address: '::1', port: null },
    '*.c.example': { address: '10.0.0.1', port: null },
  });

  test('for the hosts it names, with its port or that of the request', () => {
    expect(pinnedUpstream(policy, 'a.example', 443)).toEqual({
      addresses: [{ address: '127.0.0.1', family: 4 }],
      port: 9443,
    });
    expect(pinnedUpstream(policy, 'b.example', 8443)).toEqual({
      addresses: [{ address: '::1', family: 6 }],
      port: 8443,
    });
    expect(pinnedUpstream(policy, 'x.c.example', 443)?.addresses[0]?.address).toBe('10.0.0.1');
  });

  test.each(['c.example', 'xa.example', 'a.example.evil', 'sub.a.example'])('and for no other: %s', (host) => {
    expect(pinnedUpstream(policy, host, 443)).toBeNull();
  });
});
