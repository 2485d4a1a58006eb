import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Question } from '../../src/path/approvals.ts';
import { openWatch, type Watcher } from '../support/approval-ground.ts';
import { eventually } from '../support/eventually.ts';
import type { GitFolder } from '../support/git-folder.ts';
import { openPushGround, otherHost, otherLogin, type PushGround } from '../support/push-ground.ts';

let ground: PushGround;
let watcher: Watcher;
let bare: GitFolder;
/** How many requests had reached the git server when a question was answered. */
let reached = 0;
const url = `https://${otherHost}/acme/asked.git`;

beforeAll(async () => {
  ground = await openPushGround({
    config: {
      allow: [{ host: otherHost, ask: true }],
      git: { hosts: [otherHost] },
      credentials: { own: { hosts: [otherHost], inject: { basic: { username: 'robot' } } }, github: {} },
    },
  });
  await ground.gateway.setSecret('own', otherLogin.slice('robot:'.length));
  bare = await ground.upstream.create('acme/asked');
  await bare.commit({ branch: 'main', files: { a: 'a\n' } });
  watcher = await openWatch(ground.gateway.gateway.summary.adminSocket);
});

afterAll(async () => {
  watcher.end();
  await ground.stop();
});

async function answerNext(body: object): Promise<Question> {
  const question = await eventually(async () => {
    const { questions } = (await ground.gateway.admin('GET', '/internal/questions')).json<{ questions: Question[] }>();
    return questions[0];
  }, 'a person is asked');
  reached = ground.upstream.requests.length;
  await ground.gateway.admin('POST', `/internal/questions/${question.id}`, body);
  return question;
}

const once = { answer: 'approve', for: 'once' };
const shown = ({ method, path, query, credential, repository }: Question) =>
  `${method} ${path} ${query} ${credential} ${repository}`;

const words = (stderr: string): string[] => stderr.split('\n').map((line) => line.trim());
/** What git shows of a push that a person denied. */
const saidNo = [
  `remote: Sallyport refused this push. Nothing of it was sent to ${otherHost}.`,
  `remote: - a person was asked about this request to ${otherHost} and said no (rule: allow[0])`,
  'remote: What to do: Do without it, or tell the user why it is needed before you try again.',
  '! [remote rejected] no -> no (not approved)',
];

describe('git through a host that asks', () => {
  test('a clone asks for each of its requests, none of which has left before, and is whole', async () => {
    ground.upstream.forget();
    const cloning = ground.sandbox.clone(url);
    const asked: string[] = [];
    for (let i = 0; i < 3; i++) {
      asked.push(shown(await answerNext(once)));
      expect(reached).toBe(i);
    }
    const pack = 'POST /acme/asked.git/git-upload-pack null own acme/asked';
    expect(asked).toEqual(['GET /acme/asked.git/info/refs service=git-upload-pack own acme/asked', pack, pack]);
    const clone = await cloning;
    expect(await clone.tip('main')).toBe(await bare.tip('main'));
  });

  test('a push waits with its body unread, arrives when it is approved, and does not when it is denied', async () => {
    const cloning = ground.sandbox.clone(url);
    for (let i = 0; i < 3; i++) await answerNext(once);
    const clone = await cloning;
    for (const [branch, answer] of [
      ['yes', once],
      ['no', { answer: 'deny' }],
    ] as const) {
      const tip = await clone.commit({ branch, parents: ['main'], files: { f: 'x'.repeat(200_000) } });
      const pushing = clone.run(['push', 'origin', branch]);
      expect((await answerNext(once)).query).toBe('service=git-receive-pack');
      expect((await answerNext(answer)).path).toBe('/acme/asked.git/git-receive-pack');
      const run = await pushing;
      if (answer === once) expect(await bare.tip(branch)).toBe(tip);
      else {
        expect([run.code, words(run.stderr)]).toEqual([1, expect.arrayContaining(saidNo)]);
        expect(ground.upstream.requests).toHaveLength(reached);
      }
    }
    await expect(bare.git('rev-parse', '--verify', 'refs/heads/no')).rejects.toThrow();
  });
});
