import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LineChanged } from '../../../../src/gateway/admin/line-changed.ts';
import type { PersonsAnswer } from '../../../../src/path/approvals.ts';
import { callAdmin } from '../../../support/test-gateway.ts';
import { type Running, startFake } from './fake-ports.ts';

const shown = { file: '/sallyport.yaml', line: 7, text: '- shown', covers: 'all of it' };
let gateway: Running;
let answers: PersonsAnswer[];

beforeEach(async () => {
  gateway = await startFake();
  answers = [];
  Object.assign(gateway.ports.questions, {
    preview: async () => shown,
    answer: async (_id: string, answer: PersonsAnswer) => {
      answers.push(answer);
      if ('line' in answer && answer.line !== shown.text)
        throw new LineChanged(shown, 'another', `Now:\n${shown.text}`);
      return { said: 'done' };
    },
  });
});

afterEach(() => gateway.stop());

const post = (body: unknown) => callAdmin(gateway.socketPath, 'POST', '/internal/questions/q1', body);

describe('an answer over the admin API', () => {
  test.each([
    {},
    { answer: 'maybe' },
    { answer: 'deny', by: 'the king' },
    { answer: 'approve' },
    { answer: 'approve', for: 'ever' },
    { answer: 'approve', for: 'once', by: 'the king' },
    { answer: 'approve', for: 'minutes', minutes: 0, scope: 'path' },
    { answer: 'approve', for: 'minutes', minutes: 1441, scope: 'path' },
    { answer: 'approve', for: 'minutes', minutes: '5', scope: 'path' },
    { answer: 'approve', for: 'minutes', minutes: 5 },
    { answer: 'approve', for: 'always' },
  ])('is one of those there are: not %j', async (body) => {
    expect((await post(body)).status).toBe(400);
    expect(answers).toEqual([]);
  });

  test('`always` is handed on with the line that was shown, and with none where none was', async () => {
    const always = { answer: 'approve', for: 'always', scope: 'host' };
    for (const body of [always, { ...always, line: '- something else' }]) {
      const reply = await post(body);
      expect(reply.status).toBe(409);
      expect(reply.json()).toMatchObject({ code: 'question.line', hint: expect.stringContaining('- shown') });
    }
    expect((await post({ ...always, line: '- shown' })).status).toBe(200);
    const by = expect.stringMatching(/^user \d+ on/);
    expect(answers).toEqual([null, '- something else', '- shown'].map((line) => ({ ...always, line, by })));
  });

  test('the line is asked for by scope, and no other word', async () => {
    const get = (scope: string) =>
      callAdmin(gateway.socketPath, 'GET', `/internal/questions/q1/line?scope=${scope}`).then(({ status }) => status);
    expect([await get('path'), await get('host'), await get('all')]).toEqual([200, 200, 400]);
  });

  test('who ends an approval is told to the journal, as who answers is', async () => {
    const ended: string[][] = [];
    Object.assign(gateway.ports.questions, {
      withdraw: async (...told: string[]) => {
        ended.push(told);
        return true;
      },
    });
    expect((await callAdmin(gateway.socketPath, 'DELETE', '/internal/approvals/a7')).status).toBe(204);
    expect(ended).toEqual([['a7', expect.stringMatching(/^user \d+ on/)]]);
  });

  test('what is not there is 404, in words', async () => {
    const reply = await callAdmin(gateway.socketPath, 'DELETE', '/internal/approvals/a7');
    expect(reply.status).toBe(404);
    expect(reply.body).toContain('no approval a7 is in force');
  });
});
