// What a sandbox has a say in (hosts, paths, methods, reasons, its own id) reaches the page as text in JSON and cannot be read
// as anything else: no markup, no end of an event, no second event, no field of the answer.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FeedBatch, RequestDetail } from '../../../src/gateway/dashboard/shapes.ts';
import type { Question } from '../../../src/path/approvals.ts';
import { eventually } from '../../support/eventually.ts';
import { askPage, type PageClient } from '../../support/page-client.ts';
import { aQuestion, type PageGround, startPageGround } from '../../support/page-ground.ts';

let ground: PageGround;
let page: PageClient;

beforeAll(async () => {
  ground = await startPageGround();
  page = await ground.enter();
});

afterAll(() => ground.stop());

const hostile = [
  '</script><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '\'"><svg/onload=alert(1)>',
  'x\n\nevent: questions\ndata: []\n\n',
  'x\r\ndata: {}\r\n\r\n',
  '\u2028\u2029\u202e\u0000\u001b]0;title\u0007',
  '\ud800 half a pair',
  '__proto__',
];

test('as text it comes through whole, and in the bytes there is no markup', async () => {
  const stream = await page.listen();
  for (const [at, text] of hostile.entries()) {
    ground.feed({
      id: `h${at}`,
      path: text,
      host: text,
      method: text,
      reason: text,
      sandbox: text,
      verdict: 'refused',
    });
    const reply = await page.get(`/api/requests/h${at}`);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(reply.body).not.toMatch(/[<>&\u2028\u2029\n\r]/);
    expect(reply.json<RequestDetail>().record).toMatchObject({ host: text, path: text, sandbox: text, reason: text });
  }
  expect((await page.get('/api/state')).body).not.toMatch(/[<>&\u2028\u2029\n\r]/);
  ground.questions.push(
    ...hostile.map((text, at) => aQuestion({ id: `q${at}`, path: text, host: text, reason: text })),
  );
  ground.tellQuestions();
  const questions = await stream.until<Question[]>('questions', (list) => list.length > 0);
  expect(questions.map(({ reason }) => reason)).toEqual(hostile);
  const shown = () => stream.events.flatMap(({ name, data }) => (name === 'requests' ? (data as FeedBatch).lines : []));
  await eventually(() => shown().length === hostile.length, 'every request is shown');
  expect(
    shown()
      .map(({ path }) => path)
      .sort(),
  ).toEqual([...hostile].sort());
  // Nothing that was sent made an event of its own.
  const names = new Set(stream.events.map(({ name }) => name));
  for (const name of names)
    expect([
      'requests',
      'questions',
      'approvals',
      'gateway',
      'sandboxes',
      'credentials',
      'refusals',
      'traffic',
    ]).toContain(name);
  expect(stream.events.filter(({ name, data }) => name === 'questions' && (data as unknown[]).length === 0)).toEqual(
    [],
  );
  stream.close();
});

test('a path of a request to the page is never repeated as markup', async () => {
  for (const path of [
    '/%3Cscript%3Ealert(1)%3C/script%3E',
    '/<script>alert(1)</script>',
    '/api/<b>',
    '/enter?token=<b>',
  ]) {
    for (const cookie of [undefined, page.cookie]) {
      const reply = await askPage(ground.dashboard.origin, path, { headers: { cookie } });
      expect(reply.body).not.toMatch(/<script|<b>|alert/);
    }
  }
  expect((await page.get('/api/requests/%ff')).status).toBe(400);
});
