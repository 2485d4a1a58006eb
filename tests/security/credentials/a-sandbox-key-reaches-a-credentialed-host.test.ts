// Must not happen: auth that the sandbox sent (a placeholder, or a key of an attacker's own account) goes out to a
// host that has a credential. Guards the theft of data through someone else's account as much as the placeholder.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CredentialSpec } from '../../../src/policy/compiled.ts';
import { everySpec, injectNow, stageWith, wire } from '../../unit/stages/inject/authorized-flow.ts';

const sent = 'SENT-BY-THE-SANDBOX';
const real = 'real-secret-value';
const stage = stageWith(everySpec, () => real);
const empty = stageWith(everySpec, () => null);

/** A name in any mix of cases, with `-` or `_`. */
function spelled(name: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }), fc.boolean())
    .map(([upper, fold]) => {
      const mixed = [...name].map((letter, i) => (upper[i] ? letter.toUpperCase() : letter)).join('');
      return fold ? mixed.replaceAll('-', '_') : mixed;
    });
}

/** A parameter name with any of its characters percent-encoded. */
function encoded(name: string): fc.Arbitrary<string> {
  return fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((escaped) =>
      [...name].map((letter, i) => (escaped[i] ? `%${letter.charCodeAt(0).toString(16)}` : letter)).join(''),
    );
}

const authValue = fc.constantFrom(sent, `Bearer ${sent}`, `Basic ${sent}`, `${sent}, ${sent}`, `a=${sent}; b=c`);
const harmless = fc.constantFrom<[string, string]>(
  ['Accept', '*/*'],
  ['Content-Type', 'application/json'],
  ['Connection', 'keep-alive'],
  ['Connection', 'authorization, x-api-key'],
  ['User-Agent', 'agent'],
);

function headersFor(spec: CredentialSpec): fc.Arbitrary<[string, string][]> {
  const auth = fc
    .constantFrom(...spec.stripHeaders)
    .chain((name) => fc.tuple(spelled(name), authValue))
    .map(([name, value]): [string, string] => [name, value]);
  const subprotocol = fc.constant<[string, string]>([
    'Sec-WebSocket-Protocol',
    `realtime, openai-insecure-api-key.${sent}`,
  ]);
  return fc.array(fc.oneof(auth, auth, harmless, subprotocol), { maxLength: 12 });
}

function queryFor(spec: CredentialSpec): fc.Arbitrary<string | null> {
  const places = [
    ...spec.stripQuery,
    ...spec.placements.flatMap(({ injection }) => (injection.kind === 'query' ? [injection.parameter] : [])),
  ];
  const plain = fc.constantFrom('a=1', 'q=%6b%20x', 'flag', '');
  const auth =
    places.length === 0
      ? plain
      : fc
          .constantFrom(...places)
          .chain(encoded)
          .map((name) => `${name}=${sent}`);
  const part = fc.oneof(plain, auth);
  const separator = fc.constantFrom('&', ';');
  const query = fc
    .array(fc.tuple(part, separator), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.map(([text, end], i) => (i === parts.length - 1 ? text : text + end)).join(''));
  return fc.option(query);
}

const attempts = fc.constantFrom(...everySpec).chain((spec) =>
  fc.record({
    spec: fc.constant(spec),
    headers: headersFor(spec),
    query: queryFor(spec),
    host: fc.constantFrom(...spec.placements.flatMap(({ hosts }) => hosts.map(({ text }) => text))),
    protocol: fc.constantFrom<'http/1.1' | 'h2'>('http/1.1', 'h2'),
  }),
);

/** How often the secret stands in the head, in the clear or as basic auth. */
function countReal(head: string): number {
  const basic = Buffer.from(`x-access-token:${real}`).toString('base64');
  return head.split(real).length - 1 + head.split(basic).length - 1;
}

describe('auth that a sandbox sends to a credentialed host never goes out', () => {
  test('wherever it stands, however it is spelled and repeated; the real one goes out exactly once', () => {
    fc.assert(
      fc.property(attempts, ({ spec, headers, query, host, protocol }) => {
        const out = injectNow(stage, {
          headers,
          protocol,
          canonical: { host, query },
          permission: { credential: spec.name },
        });
        expect(wire(out)).not.toContain(sent);
        expect(countReal(wire(out))).toBe(1);
      }),
      { numRuns: 2000, seed: 20_270_101 },
    );
  });

  test('also where no credential is put in: on telemetry paths, and where none is set', () => {
    fc.assert(
      fc.property(attempts, fc.boolean(), ({ spec, headers, query, host, protocol }, unset) => {
        const credential = unset && spec.anonymous ? spec.name : null;
        const canonical = { host, query, path: '/api/telemetry', rawPath: '/api/telemetry' };
        const out = injectNow(unset ? empty : stage, { headers, protocol, canonical, permission: { credential } });
        expect(wire(out)).not.toContain(sent);
        expect(countReal(wire(out))).toBe(0);
      }),
      { numRuns: 1000, seed: 20_270_102 },
    );
  });

  test('also over plain http', () => {
    const out = injectNow(stage, { headers: [['x-api-key', sent]], canonical: { scheme: 'http', port: 80 } });
    expect(wire(out)).toBe('/v1/messages');
  });

  test('fields of the credentials that were not chosen are removed, too', () => {
    const [first, second] = everySpec.map((spec) => ({ ...spec, placements: everySpec[0]!.placements }));
    const both = stageWith(
      [first!, { ...second!, stripHeaders: ['x-second-key'], stripQuery: ['second'] }],
      () => real,
    );
    const out = injectNow(both, {
      headers: [['X-Second-Key', sent]],
      canonical: { query: `second=${sent}` },
      permission: { credential: 'anthropic' },
    });
    expect(wire(out)).not.toContain(sent);
  });
});
