import { expect, test } from 'vitest';
import { RecordedMachine, ReplayedMachine } from '../../../../src/gateway/workers/recorded-machine.ts';

function machineWith(texts: Record<string, string>) {
  return {
    env: {},
    home: '/home/of-test',
    readText: (path: string) => texts[path] ?? null,
    listDirectory: () => ['b', 'a'],
    run: async (argv: readonly string[]) => `ran ${argv.join(' ')}`,
  };
}

test('a worker sees the machine as its policy was compiled on it, whatever the files say by now', async () => {
  const texts: Record<string, string> = { '/config': 'first' };
  const machine = machineWith(texts);
  const recorded = new RecordedMachine(machine);
  expect(recorded.readText('/config')).toBe('first');
  expect(recorded.readText('/none')).toBeNull();
  expect(recorded.listDirectory('/etc')).toEqual(['b', 'a']);
  expect(await recorded.run(['tool', 'x'])).toBe('ran tool x');
  const seen = recorded.snapshot();
  texts['/config'] = 'second';
  // A reload that fails has looked at the file too.
  recorded.readText('/config');
  const replayed = new ReplayedMachine(machine, JSON.parse(JSON.stringify(seen)));
  expect(replayed.readText('/config')).toBe('first');
  expect(replayed.readText('/none')).toBeNull();
  expect(replayed.listDirectory('/etc')).toEqual(['b', 'a']);
  expect(await replayed.run(['tool', 'x'])).toBe('ran tool x');
  replayed.show(recorded.snapshot());
  expect(replayed.readText('/config')).toBe('second');
});

test('what the policy has not asked for is not there', async () => {
  const replayed = new ReplayedMachine(machineWith({}), { texts: {}, directories: {}, runs: {} });
  expect(replayed.readText('toString')).toBeNull();
  expect(replayed.listDirectory('constructor')).toEqual([]);
  expect(await replayed.run(['anything'])).toBeNull();
});
