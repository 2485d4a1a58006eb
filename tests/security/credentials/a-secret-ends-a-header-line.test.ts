// Must not happen: a credential with a line break in it writes header fields or a second request.
import { describe, expect, test } from 'vitest';
import { makeSecretStore } from '../../support/secret-store.ts';
import { authorized, everySpec, injectNow, spec, stageWith } from '../../unit/stages/inject/authorized-flow.ts';

const evil = ['a\r\nX-Evil: 1', 'a\nb', 'a\rb', 'a\0b', 'a\u010ab', 'a\u2028b'];

describe('a credential stays inside its place', () => {
  test.each(evil)('%j never goes into a header, even if a source let it through', (value) => {
    const stage = stageWith(everySpec, () => value);
    expect(() => stage.run(authorized({ permission: { credential: 'anthropic' } }))).toThrow(
      expect.objectContaining({ code: 'credential.unreadable' }),
    );
  });

  test.each(evil)('%j is encoded in a query and in basic auth', (value) => {
    const stage = stageWith(everySpec, () => value);
    const query = injectNow(stage, { canonical: { host: 'maps.example' }, permission: { credential: 'maps' } });
    const basic = injectNow(stage, { canonical: { host: 'github.com' }, permission: { credential: 'github' } });
    expect(query.outgoing.target).toMatch(/^\/v1\/messages\?key=[\w%.~-]+$/);
    expect(basic.outgoing.headers.get('authorization')).toMatch(/^Basic [\w+/=]+$/);
  });

  test.each(evil.slice(0, 4))('%j is refused where it is set', (value) => {
    const store = makeSecretStore({});
    store.configure(new Map([['m', spec('m', {})]]));
    expect(() => store.set('m', value)).toThrow('control character');
    expect(store.resolve('m')).toBeNull();
  });
});
