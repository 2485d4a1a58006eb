// The door's own page from inside `sallyport run`, where no client knows a proxy: the refusals of this sandbox, and a host that
// a person allows while the command runs.
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { makeRunGround, type RunGround, readableByAll } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { callAdmin } from '../support/test-gateway.ts';

let upstream: FakeUpstream;
let ground: RunGround;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['docs.example.com'], (_request, response) => response.end('the manual\n'));
  ground = makeRunGround({
    allow: [{ host: 'api.example.com', methods: ['GET'] }],
    upstream: { ca: readableByAll(ca.path), resolve: { 'docs.example.com': upstream.address } },
  });
});

afterAll(async () => {
  await upstream.close();
  ground.remove();
});

const tries = 'for i in $(seq 200)';
const script = `
page=http://sallyport.internal
curl -sS -X POST https://api.example.com/v1/x | sed 's/.*"request_id":"\\([^"]*\\)".*/refused as \\1/'
curl -sS https://docs.example.com/manual 2>&1
curl -sS $page/why | sed 's/^/curl: /'
/usr/bin/python3 -c 'import urllib.request as u; print("python:", u.urlopen("https://sallyport.internal/why.json").read().decode())'
node -e 'fetch("http://sallyport.internal/why").then((r) => r.text()).then((t) => console.log("node:", t))'
${tries}; do curl -sSf $page/requests -d url=https://docs.example.com/manual -d reason=manual 2>/dev/null && break; sleep 0.1; done
${tries}; do curl -sSf https://docs.example.com/manual 2>/dev/null && break; sleep 0.1; done
curl -sS $page/requests
`;

describe('inside sallyport run', () => {
  test('a refusal is explained, and a host is asked for, approved and reached', async () => {
    const running = ground.start('root', ['run', '--', 'sh', '-c', script]);
    const socketPath = join(ground.stateOf('root'), 'run', 'admin.sock');
    // Nobody is watching until the command has been refused what it asks a person for.
    await eventually(() => running.output().includes('node: '), 'the command has asked why', 40_000);
    const watching = request({ socketPath, path: '/internal/watch', agent: false }, (answer) => answer.resume());
    watching.on('error', () => {});
    watching.end();
    try {
      const [question] = await eventually(
        async () => {
          const { body } = await callAdmin(socketPath, 'GET', '/internal/questions');
          const { questions } = JSON.parse(body) as { readonly questions: readonly { readonly id: string }[] };
          return questions.length > 0 ? questions : null;
        },
        'the question is there',
        20_000,
      );
      expect(question).toMatchObject({ host: 'docs.example.com', path: '/manual', reason: 'manual', requestId: null });
      const answer = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path' };
      const told = await callAdmin(socketPath, 'POST', `/internal/questions/${question!.id}`, answer);
      expect(told.status).toBe(200);
      expect(await running.ended).toBe(0);
    } finally {
      watching.destroy();
      running.kill('SIGTERM');
      await running.ended;
    }
    const output = running.output();
    const id = /refused as (\S+)/.exec(output)![1]!;
    expect(output).toContain(`curl:   request: ${id}`);
    expect(output).toMatch(new RegExp(`python: .*"request_id":"${id}"`));
    expect(output).toMatch(new RegExp(`node: [\\s\\S]*request: ${id}`));
    // Tools say that a name does not resolve; the page says why.
    expect(output).toMatch(/curl: \S+ {2}DNS docs\.example\.com\n.*not on the allowlist/);
    expect(output).toContain('the manual\n');
    expect(output).toMatch(/approved until .*GET https:\/\/docs\.example\.com\/manual/);
    expect(upstream.seen.map(({ url }) => url)).toEqual(['/manual']);
  }, 90_000);
});
