import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFake } from '../gateway/admin/fake-ports.ts';
import { runWith } from './command-line.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-explain-'));
  writeFileSync(
    join(directory, 'sallyport.yaml'),
    'version: 1\nallow:\n  - preset: github\n  - host: api.example.com\n',
  );
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('sallyport policy explain', () => {
  test('says what a sandbox with these rights may do, under titles, folded for a terminal', async () => {
    const words = ['policy', 'explain', '--repo', 'acme/widgets', '--mode', 'user', '--credential', 'github'];
    const { code, out } = await runWith(words, { cwd: directory });
    expect(code).toBe(0);
    expect(out).toMatch(/^Policy\n {2}- .*sallyport\.yaml\.\n\nHosts\n {2}- github\.com/);
    expect(out).toContain('- api.example.com: every method and path (allow[1], line 4).');
    expect(out).toContain('The sandbox may fetch from, and push to, acme/widgets.');
    expect(out.replaceAll('\n    ', ' ')).toContain('it may push new tags and every branch that is not protected.');
    expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });

  test('as JSON it is the same sentences in whole', async () => {
    const { out } = await runWith(['policy', 'explain', '--json'], { cwd: directory });
    const { sections } = JSON.parse(out) as { sections: { title: string; sentences: string[] }[] };
    expect(sections.map(({ title }) => title)).toEqual([
      ...['Policy', 'Hosts', 'Credentials', 'Repositories', "GitHub's API", 'People', 'Limits', 'Budgets', 'Secrets'],
      ...['Always refused', 'Gateway'],
    ]);
    expect(sections[1]!.sentences).toContain('Every other host is refused, and its name does not resolve.');
  });

  test('a bad configuration is told with its places, exit 2', async () => {
    writeFileSync(join(directory, 'bad.yaml'), 'version: 1\nalow: []\n');
    const { code, err } = await runWith(['policy', 'explain', '--config', 'bad.yaml'], { cwd: directory });
    expect(code).toBe(2);
    expect(err).toContain('bad.yaml:2:1: alow: unknown key: did you mean `allow`?');
  });

  test('rights that no sandbox could have are refused, and names are spelled as a registration spells them', async () => {
    const explain = (...words: string[]) => runWith(['policy', 'explain', ...words], { cwd: directory });
    const [repo, credential] = [await explain('--repo', 'widgets'), await explain('--credential', 'githup')];
    expect([repo.code, repo.err]).toEqual([2, expect.stringContaining('widgets is no repository')]);
    expect([credential.code, credential.err]).toEqual([2, expect.stringContaining('no credential githup')]);
    expect((await explain('--repo', 'Acme/Widgets.git')).out).toContain('push to, acme/widgets.');
  });

  test('--sandbox asks the running gateway, whose word is taken alone', async () => {
    const { ports, home, stop } = await startFake();
    const asked: unknown[] = [];
    ports.explain = (sandbox, full) => {
      asked.push([sandbox, full]);
      return sandbox === 'sbx_1' ? [{ title: 'Hosts', sentences: ['none \u001b[2J.'] }] : null;
    };
    try {
      const { code, out } = await runWith(['policy', 'explain', '--sandbox', 'sbx_1', '--full'], { home });
      expect([code, out]).toEqual([0, 'Hosts\n  - none \\x1b[2J.\n']);
      expect(asked).toEqual([['sbx_1', true]]);
      const unknown = await runWith(['policy', 'explain', '--sandbox', 'nobody'], { home });
      expect([unknown.code, unknown.err]).toEqual([
        1,
        expect.stringContaining('no live sandbox is registered as nobody'),
      ]);
      const both = await runWith(['policy', 'explain', '--sandbox', 'sbx_1', '--mode', 'user'], { home });
      expect([both.code, both.err]).toEqual([2, expect.stringContaining('leave out --mode')]);
    } finally {
      await stop();
    }
  });
});
