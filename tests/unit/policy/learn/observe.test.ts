import { describe, expect, test } from 'vitest';
import { observe } from '../../../../src/policy/learn/observe.ts';

const read = (host: string, more: object = {}) => ({
  ...{ host, method: 'GET', scheme: 'https', port: 443, path: '/x', kind: 'http' },
  ...{ verdict: 'allowed', rule: 'learning', code: null, reason: null, ...more },
});

const refused = (host: string, code: string, more: object = {}) =>
  read(host, { verdict: 'refused', rule: 'allow[1]', code, reason: `${host} is not allowed`, ...more });

describe('what a session asked for', () => {
  test('hosts that were read by learning are counted with their paths; all others are not', async () => {
    const observed = await observe([
      read('a.example'),
      read('a.example', { path: '/y', method: 'HEAD' }),
      read('b.example', { rule: 'allow[0]' }),
      read('c.example', { verdict: 'failed', code: 'upstream.unresolved' }),
      read('d.example', { kind: 'connect' }),
      read('e.example', { kind: 'lookup' }),
      { note: 'approval', text: 'learns' },
    ]);
    expect(observed.read).toEqual([{ host: 'a.example', requests: 2, paths: ['/x', '/y'] }]);
    expect(observed.refused).toEqual([]);
  });

  test('what a line of the policy could change is listed, once for each kind, and nothing else', async () => {
    const { refused: still } = await observe([
      refused('a.example', 'method.not-allowed', { method: 'POST' }),
      refused('a.example', 'method.not-allowed', { method: 'POST', path: '/other' }),
      refused('b.example', 'domain.not-allowed', { kind: 'lookup', method: 'A' }),
      refused('c.example', 'limit.requests'),
      refused('d.example', 'secret.value-outbound'),
    ]);
    expect(still).toMatchObject([
      { method: 'POST', host: 'a.example', times: 2, rule: 'allow[1]' },
      { method: 'look-up', host: 'b.example', path: '', times: 1 },
    ]);
  });

  test('what a sandbox of the same name did before this one began to learn is not of this session', async () => {
    const learns = { note: 'approval', answer: 'learn', sandbox: 'sbx_1' };
    const earlier = [learns, read('old.example'), refused('shut.example', 'domain.not-allowed')];
    const observed = await observe([...earlier, learns, read('new.example')]);
    expect(observed).toMatchObject({ read: [{ host: 'new.example', requests: 1 }], refused: [], leftOut: 0 });
  });

  test('a sandbox that makes up names costs bounded memory, and is told apart', async () => {
    const many = Array.from({ length: 3000 }, (_, i) => [
      read(`h${i}.example`),
      refused(`r${i}.example`, 'domain.not-allowed'),
    ]).flat();
    const observed = await observe(many);
    expect([observed.read.length, observed.refused.length, observed.leftOut]).toEqual([500, 200, 2500 + 2800]);
  });
});
