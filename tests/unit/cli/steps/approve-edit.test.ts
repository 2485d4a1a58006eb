import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { approvingPerson } from '../../../../src/cli/steps/approve-edit.ts';

const question = {
  what: '/p/sallyport.yaml may be a sandbox’s',
  before: 'version: 1\nallow: []\n',
  now: 'version: 1\nallow: [x]\n',
};

async function asked(key: string, changes: Partial<typeof question> = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  let said = '';
  const ask = approvingPerson({
    isTerminal: true,
    stdin,
    say: (text) => {
      said += text;
    },
  });
  const answer = ask?.({ ...question, ...changes });
  if (key === '') stdin.end();
  else stdin.write(key);
  return { answer: await answer, said };
}

test('a person sees what changed, and says yes by one key', async () => {
  const { answer, said } = await asked('y');
  expect(answer).toBe(true);
  expect(said).toContain('What changed since it was last followed:\n  - allow: []\n  + allow: [x]\n');
});

test.each(['n', '\r', ' ', '\x03', ''])('%j is a no', async (key) => {
  expect((await asked(key)).answer).toBe(false);
});

test('what a sandbox wrote does not act on the terminal, and a long text is named as one', async () => {
  const now = `evil\x1b[2J\n${'line\n'.repeat(100)}`;
  const { said } = await asked('n', { now });
  expect(said).not.toContain('\x1b');
  expect(said).toMatch(/… and \d+ more lines/);
});

test('nobody is asked who is not there', () => {
  const say = (): void => {};
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  expect(approvingPerson({ isTerminal: false, stdin, say })).toBeNull();
  expect(approvingPerson({ isTerminal: true, stdin: new PassThrough(), say })).toBeNull();
});
