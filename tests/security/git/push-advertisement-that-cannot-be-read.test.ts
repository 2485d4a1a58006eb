// A hostile git server says what it has in a form that cannot be read: the client gets a refusal in its place, never
// what seems to be whole, and the gateway goes on.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodePkt } from '../../../src/protocols/git/pkt-line.ts';
import { clientEnvironment } from '../../support/client-environment.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { runClient } from '../../support/run-client.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

const id = '1f7a7a472abf3dd9643fd615f6da379c4acb3e3a';
const service = encodePkt('# service=git-receive-pack\n');
const flush = Buffer.from('0000');
const ref = (capabilities: string): Buffer => encodePkt(`${id} refs/heads/main\0${capabilities}\n`);
let said: Buffer;
let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['github.com'], (_request, response) => {
    response.setHeader('content-type', 'application/x-git-receive-pack-advertisement');
    response.end(said);
  });
  gateway = await startTestGateway({
    allow: [{ preset: 'github' }],
    upstream: { resolve: { 'github.com': upstream.address }, ca: ca.path },
  });
  await gateway.register({ container_ip: '127.0.0.1', repos: ['acme/r1'] });
  await gateway.setSecret('github', 'ghp_real0123456789abcdefghijklmnopqrstuv');
});

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function ask(bytes: Buffer) {
  said = bytes;
  const url = 'https://github.com/acme/r1/info/refs?service=git-receive-pack';
  return runClient('curl', ['-sS', '-i', '--max-time', '10', url], { env: clientEnvironment(gateway) });
}

describe('it is not passed on as if it were whole', () => {
  test.each([
    ['a length that is none', Buffer.concat([service, flush, Buffer.from('zzzz')])],
    ['a length that means nothing', Buffer.concat([service, flush, Buffer.from('0003')])],
    ['another service', Buffer.concat([encodePkt('# service=git-evil\n'), flush])],
    ['no flush behind the service', Buffer.concat([service, ref('report-status'), flush])],
    ['nothing at all', Buffer.alloc(0)],
  ])('%s: refused in its place', async (_, bytes) => {
    const run = await ask(bytes);
    expect(run.stdout.toLowerCase()).toContain('x-sallyport-refused: upstream.protocol');
    expect(run.stdout).not.toContain('refs/heads/main');
  });

  test.each([
    ['its first ref cut short', Buffer.concat([service, flush, ref('report-status').subarray(0, 40)])],
    ['a list with no room for one more word', Buffer.concat([service, flush, ref('x'.repeat(65_456)), flush])],
  ])('%s: what was passed on by then breaks off', async (_, bytes) => {
    const run = await ask(bytes);
    expect(run.stderr).toMatch(/^curl: \((?:18|56|92)\)/m);
    expect(run.stdout).toContain('# service=git-receive-pack');
    expect(run.stdout).not.toContain('refs/heads/main');
  });

  test('and one that can be read arrives, with the request for whole packs', async () => {
    const run = await ask(Buffer.concat([service, flush, ref('report-status'), flush]));
    expect([run.code, run.stdout.includes('report-status no-thin')]).toEqual([0, true]);
  });
});
