import picocolors from 'picocolors';
import { describe, expect, test } from 'vitest';
import { describeRefusals, describeRun, type RunFacts } from '../../../../src/cli/steps/run-report.ts';

const facts = {
  launcher: 'bubblewrap',
  started: { grant: { id: 'sbx_1', credentials: [], hostPorts: [], plainHosts: [] }, notices: [] },
  workingDirectory: '/p',
  repos: [],
  branches: [],
  credentials: [],
  config: 'embedded default',
  persistentHome: false,
  saved: null,
} as unknown as RunFacts;
const said = (changes: Partial<RunFacts>): string =>
  describeRun({ colors: picocolors.createColors(false) }, { ...facts, ...changes });

describe('the banner of a run', () => {
  const broken = { name: 'github', source: 'file', set: false, error: '/k is open to other users: run  chmod 600 /k' };

  test('does not say that no key is set where one cannot be read: it says which, and what to do', () => {
    const text = said({ credentials: [broken] });
    expect(text).not.toContain('none are set');
    expect(text).toContain('keys    none that can be used: github cannot be read');
    expect(text).toContain(
      'problem the credential github cannot be used: /k is open to other users: run  chmod 600 /k',
    );
  });

  test('says it beside those that can be used', () => {
    const grant = { id: 'sbx_1', credentials: ['my'], hostPorts: [], plainHosts: [] };
    const started = { grant, notices: [] } as unknown as RunFacts['started'];
    const text = said({ started, credentials: [{ name: 'my', source: 'file', set: true }, broken] });
    expect(text).toContain('keys    my (file); the sandbox has placeholders only');
    expect(text).toContain('chmod 600 /k');
  });

  test('says which ports of this machine are in reach, and which hosts without being read', () => {
    const grant = {
      id: 'sbx_1',
      credentials: [],
      hostPorts: ['5432', '6379:16379'],
      plainHosts: ['a.example.com:6379'],
    };
    const text = said({ started: { grant, notices: [] } as unknown as RunFacts['started'] });
    expect(text).toContain('port    127.0.0.1:5432 inside is port 5432 of this machine');
    expect(text).toContain('port    127.0.0.1:16379 inside is port 6379 of this machine');
    expect(text).toContain('tcp     a.example.com:6379; not read, and without a credential');
  });

  test('says that none are set where none are', () => {
    expect(said({})).toContain('keys    none are set; requests go out without a key');
  });
});

describe('what is said of refusals when a run ends', () => {
  type R = ReturnType<typeof refused>;
  const refused = (method: string, host: string, more = {}) => ({
    ...{ method, scheme: 'https', host, path: '/', reason: `no ${host}` },
    ...more,
  });
  const lines = (...list: R[]) =>
    describeRefusals({ colors: picocolors.createColors(false) }, 'sbx_1', list)?.split('\n');
  const all = '  all of them, and why: sallyport logs --refused --sandbox sbx_1';

  test('each is one line, however often it was, and the last three are told', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((host) => refused('GET', host)) as [R, R, R, R];
    expect(lines(a, b, b, c, d, b)).toEqual([
      ...['  refused GET c  no c', '  refused GET d  no d', '  refused GET b  no b (3 times)', all],
    ]);
    expect(lines()).toBeUndefined();
  });

  test('the question for a name is told only where no request followed; http is not https', () => {
    const dns = refused('DNS', 'a', { scheme: null, path: '/A' });
    expect(lines(dns, refused('GET', 'a'), refused('GET', 'a', { scheme: 'http', path: '/x' }))).toEqual([
      ...['  refused GET a  no a', '  refused GET http://a/x  no a', all],
    ]);
    expect(lines(dns)).toEqual(['  refused DNS a/A  no a', all]);
  });
});
