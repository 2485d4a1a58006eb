import { Readable } from 'node:stream';
import picocolors from 'picocolors';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeRecord } from '../../../src/cli/logs.ts';
import type { PersonsAnswer, Question } from '../../../src/path/approvals.ts';
import { askedFor } from '../../support/approvals-ground.ts';
import { type Running, startFake } from '../gateway/admin/fake-ports.ts';
import { runWith } from './command-line.ts';

const line = '  - { host: ask.example }  # approved';
const by = `user ${process.getuid!()} on the admin socket`;
let gateway: Running;
let answers: [string, PersonsAnswer][];
let questions: Question[];

beforeEach(async () => {
  gateway = await startFake();
  answers = [];
  questions = [{ ...askedFor('/v1/\u001b[2Jx'), id: 'q1', askedAtMs: 0, untilMs: Date.now() + 90_000, inVain: null }];
  const place = { scheme: 'https', host: 'api.github.com', port: 443 } as const;
  const covers = { kind: 'effect', ...place, effect: 'release', repository: null, credential: 'key' } as const;
  const opened = { kind: 'request', ...place, method: 'GET', path: '/live', tunnel: false, websocket: true } as const;
  Object.assign(gateway.ports.questions, {
    list: () => questions,
    approvals: () => [
      { id: 'a1', sandbox: 'one', untilMs: Date.now() + 600_000, by, covers },
      { id: 'a2', sandbox: 'one', untilMs: Date.now() + 600_000, by, covers: { ...opened, credential: null } },
    ],
    preview: async () => ({ file: '/etc/sallyport.yaml', line: 7, text: line, covers: 'all \u001b[2Jof it' }),
    answer: async (id: string, answer: PersonsAnswer) => {
      answers.push([id, answer]);
      return { said: `${answer.answer}: \u001b[31mdone` };
    },
    withdraw: async (id: string) => id === 'a1',
  });
});

afterEach(() => gateway.stop());

const run = (...argv: string[]) => runWith(argv, { home: gateway.home });

describe('sallyport approve and deny', () => {
  test('without an id: what waits and what is approved, harmless on a terminal', async () => {
    const { code, out } = await run('approve');
    expect(code).toBe(0);
    expect(out).toMatch(/^q1 +one +\d+ s +POST https:\/\/ask\.example\/v1\/\\x1b\[2Jx +allow\[0\]$/m);
    expect(out).toMatch(/^a1 +one +\d+ min +release on every repository it may use at api\.github\.com, with key$/m);
    expect(out).toMatch(/^a2 +one +\d+ min +GET \(WebSocket\) https:\/\/api\.github\.com\/live$/m);
    expect(JSON.parse((await run('approve', '--json')).out)).toMatchObject({ questions: [{ id: 'q1' }] });
    questions = [];
    expect((await run('approve')).out).toContain('Nothing waits for you.');
  });

  test.each([
    [['approve', 'q1'], { answer: 'approve', for: 'once' }],
    [['approve', 'q1', '--for', '15m'], { answer: 'approve', for: 'minutes', minutes: 15, scope: 'path' }],
    [['approve', 'q1', '--for', '2h', '--host'], { answer: 'approve', for: 'minutes', minutes: 120, scope: 'host' }],
    [['approve', 'q1', '--always', '--yes'], { answer: 'approve', for: 'always', scope: 'path', line }],
    [['deny', 'q1'], { answer: 'deny' }],
  ])('%j', async (argv, answer) => {
    const { code, out } = await run(...argv);
    expect(code).toBe(0);
    expect(answers).toEqual([['q1', { ...answer, by }]]);
    expect(out).toBe(`${answer.answer}: \\x1b[31mdone\n`);
  });

  test('--always shows the line and writes nothing where nobody can be asked', async () => {
    const { code, err } = await run('approve', 'q1', '--always');
    expect(code).toBe(2);
    expect(err).toContain('/etc/sallyport.yaml at line 7');
    expect(err).toContain(line);
    expect(err).toContain('It lets pass: all \\x1b[2Jof it.');
    expect(answers).toEqual([]);
  });

  test.each([
    ['y\n', 1],
    ['\n', 0],
    ['n\n', 0],
  ])('--always asks on a terminal: %j', async (typed, count) => {
    const stdin = Object.assign(Readable.from([Buffer.from(typed)]), { isTTY: true });
    const { code } = await runWith(['approve', 'q1', '--always'], { home: gateway.home, stdin });
    expect(answers).toHaveLength(count);
    expect(code).toBe(count === 1 ? 0 : 1);
  });

  test.each([
    ['approve', '--for', '15m'],
    ['approve', 'q1', '--host'],
    ['approve', 'q1', '--yes'],
    ['approve', 'q1', '--for', '15m', '--always'],
    ['approve', 'q1', '--for', '25h'],
    ['approve', 'q1', '--for', 'soon'],
    ['approve', 'q1', '--end', 'a1'],
    ['deny'],
  ])('nonsense is said to be so: %s %s %s %s', async (...argv) => {
    expect((await run(...argv.filter((one) => one !== undefined))).code).toBe(2);
    expect(answers).toEqual([]);
  });

  test('--end takes an approval back', async () => {
    expect((await run('approve', '--end', 'a1')).code).toBe(0);
    expect(await run('approve', '--end', 'a9')).toMatchObject({ code: 1 });
  });
});

test('the log says who answered what', () => {
  const note = {
    time: '2026-11-16T16:00:00.123Z',
    note: 'approval',
    sandbox: 'one',
    by,
    answer: 'deny',
    text: 'x\u001b',
  };
  const text = describeRecord({ colors: picocolors.createColors(false) }, note);
  expect(text).toBe(`2026-11-16T16:00:00Z  one               deny  x\\x1b  by ${by}`);
});
