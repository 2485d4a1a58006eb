// `run:` of a configuration under the command line: what is added, what gives way, and where it is wrong.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { addSavedChoices } from '../../../../src/cli/steps/saved-choices.ts';
import { CommandFailed } from '../../../../src/cli/terminal/exit-code.ts';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-saved-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'sallyport.yaml');

function withChoices(run: string, given: object) {
  writeFileSync(file, `version: 1\n${run}`);
  return addSavedChoices(given, file);
}

const saved = `run:
  repos: [acme/app]
  mounts: [data, "~/shared:/mnt/shared", "/srv/x"]
  env: [EDITOR, "MODE=slow"]
  home: persist
  launcher: namespaces
`;

test('lists are added to, everything else gives way, and what came from the file is said without values', async () => {
  const given = { repo: ['acme/api'], env: ['MODE=fast'], launcher: 'bubblewrap', mount: ['/y:/srv/x'] };
  const { options, said } = await withChoices(saved, given);
  expect(options).toEqual({
    repo: ['acme/app', 'acme/api'],
    mount: [`${folder}/data`, '~/shared:/mnt/shared', '/y:/srv/x'],
    env: ['EDITOR', 'MODE=fast'],
    home: 'persist',
    launcher: 'bubblewrap',
  });
  expect(said).toBe(
    `repos: acme/app; mounts: ${folder}/data, ~/shared:/mnt/shared; env: EDITOR; home: persist (run: of ${file})`,
  );
});

test('a value of a variable is not printed', async () => {
  const { options, said } = await withChoices('run: { env: ["NAME=private-value"] }\n', {});
  expect(options).toEqual({ env: ['NAME=private-value'] });
  expect(said).toBe(`env: NAME (run: of ${file})`);
});

test.each(['', 'run:\n', 'run: {}\n', '# run: is a comment\n', 'dns: { unknown: answer }\n'])(
  'without choices (%j) the command line is all there is',
  async (text) => {
    expect(await withChoices(text, { repo: ['a/b'] })).toEqual({ options: { repo: ['a/b'] }, said: null });
  },
);

test.each(['"run": { repos: [a/b] }\n', '{"run": {"repos": ["a/b"]}}'])(
  'another spelling of it (%s) is found',
  async (text) => {
    writeFileSync(file, text.startsWith('{') ? text : `version: 1\n${text}`);
    expect((await addSavedChoices({}, file)).options).toEqual({ repo: ['a/b'] });
  },
);

test.each([
  ['run: { mount: [x] }', /2:\d+: run.*unknown key: .*mounts/],
  ['run: { repos: [] }', /2:\d+: run\.repos/],
  ['run: { home: sometimes }', /2:\d+: run\.home.*fresh or persist/],
  ['run: [repos]', /2:\d+: run.*write a map/],
])('what is wrong (%s) is an error with its place, and never a start without it', async (text, message) => {
  const failed = await withChoices(`${text}\n`, {}).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(CommandFailed);
  expect((failed as CommandFailed).message).toMatch(message);
});

test('ports and limits stand as on the command line, as numbers too, and are read by the same rules', async () => {
  const { options } = await withChoices(
    'run: { ports: [3000, "8080:3000"], memory: 4g, cpus: 0.5, pids: 512, time: 2h }\n',
    { publish: ['5000'], memory: '1g' },
  );
  expect(options).toEqual({
    publish: ['3000', '8080:3000', '5000'],
    memory: '1g',
    cpus: '0.5',
    pids: '512',
    time: '2h',
  });
  for (const [key, value] of [
    ['ports', '[0]'],
    ['ports', '["x"]'],
    ['memory', '1'],
    ['memory', '4'],
    ['cpus', '-1'],
    ['pids', '1.5'],
    ['time', '2'],
    ['time', 'forever'],
  ]) {
    await expect(withChoices(`run: { ${key}: ${value} }\n`, {}), `${key}: ${value}`).rejects.toThrow(/write /);
  }
});
