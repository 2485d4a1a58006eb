// Must not happen: a credential becomes readable through printing, serializing, cloning or failing.
import { format, inspect } from 'node:util';
import { serialize } from 'node:v8';
import { describe, expect, test, vi } from 'vitest';
import { HeaderList } from '../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../src/path/exchange/outgoing-request.ts';
import { Secret } from '../../../src/path/secret.ts';
import type { SecretStore } from '../../../src/stages/inject/secret-store.ts';
import { makeSecretStore } from '../../support/secret-store.ts';
import { injectNow, spec, stageWith } from '../../unit/stages/inject/authorized-flow.ts';

const value = 'PLANTED-9f8e7d6c';

function storeWithValue(): SecretStore {
  const store = makeSecretStore({ THE_KEY: value });
  store.configure(
    new Map([
      ['m', spec('m', {})],
      ['e', spec('e', { source: { kind: 'environment', variable: 'THE_KEY' } })],
    ]),
  );
  store.set('m', value);
  // Read from memory and from the environment: at once.
  void store.resolve('m');
  void store.resolve('e');
  return store;
}

const keyed = [
  spec('k', {
    placements: [
      {
        hosts: [{ text: 'api.anthropic.com', covers: () => true }],
        paths: null,
        injection: { kind: 'header', header: 'x-api-key', prefix: '' },
      },
    ],
  }),
];

const things: [string, () => object][] = [
  ['a secret', () => new Secret('k', value)],
  ['an outgoing request', () => new OutgoingRequest(`/?key=${value}`, HeaderList.from([['x-api-key', value]]))],
  [
    'a flow with the credential in it',
    () =>
      injectNow(
        stageWith(keyed, () => value),
        { permission: { credential: 'k' } },
      ),
  ],
  ['the store', storeWithValue],
];

const ways: [string, (thing: object) => string][] = [
  ['util.inspect', (thing) => inspect(thing, { depth: 20, showHidden: true, getters: false })],
  [
    'util.inspect without custom functions',
    (thing) => inspect(thing, { depth: 20, customInspect: false, showHidden: true }),
  ],
  ['JSON.stringify', (thing) => JSON.stringify({ thing, list: [thing] })],
  ['a template string', (thing) => `${thing}`],
  ['joining', (thing) => [thing, ''].join('|')],
  ['console formats', (thing) => format('%s %o %O %j %d', thing, thing, thing, thing, thing)],
  ['an error message', (thing) => inspect(new Error(`failed with ${thing}`, { cause: thing }))],
  ['Object.entries', (thing) => inspect(Object.entries(thing), { depth: 20 })],
  ['Object.assign', (thing) => JSON.stringify(Object.assign({}, thing))],
  ['spreading', (thing) => inspect({ ...thing }, { depth: 20, customInspect: false })],
  [
    'own property names',
    (thing) =>
      inspect(
        Reflect.ownKeys(thing).map((key) => Reflect.get(thing, key)),
        { depth: 20 },
      ),
  ],
];

describe.each(things)('%s does not show the value', (_, make) => {
  test.each(ways)('through %s', (_way, show) => {
    expect(show(make())).not.toContain(value);
  });
});

describe.each([things[0]!, things[1]!])('%s does not show the value', (_, make) => {
  test('through structuredClone', () => {
    let copy: unknown;
    try {
      copy = structuredClone(make());
    } catch {
      copy = 'not cloneable';
    }
    expect(inspect(copy, { depth: 20 })).not.toContain(value);
  });

  test('through v8.serialize', () => {
    let bytes = Buffer.alloc(0);
    try {
      bytes = serialize(make());
    } catch {
      bytes = Buffer.from('not serializable');
    }
    expect(bytes.toString('latin1')).not.toContain(value);
  });
});

describe('the process does not show the value', () => {
  test('in its diagnostic report, also when the value came by the environment', () => {
    vi.stubEnv('SALLYPORT_TEST_KEY', value);
    const store = makeSecretStore(process.env);
    store.configure(new Map([['e', spec('e', { source: { kind: 'environment', variable: 'SALLYPORT_TEST_KEY' } })]]));
    expect(store.resolve('e')).toBeInstanceOf(Secret);
    const report = JSON.stringify(process.report?.getReport());
    expect(report.length).toBeGreaterThan(1000);
    expect(report).not.toContain(value);
    vi.unstubAllEnvs();
  });
});
