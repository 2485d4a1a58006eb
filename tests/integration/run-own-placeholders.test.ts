// Placeholders where the policy wants them: in a variable and in a file of the sandbox, and what goes out in their place.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { makeRunGround, type RunGround, readableByAll } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const token = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw';
const words = '123456:sallyport-placeholder-for-telegram-the-gateway-puts-the-real-key-in';
let upstream: FakeUpstream;
let ground: RunGround;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, ['api.telegram.example'], (_request, response) => response.end('an answer\n'));
  ground = makeRunGround({
    allow: [{ host: 'api.telegram.example' }],
    credentials: {
      telegram: {
        hosts: ['api.telegram.example'],
        inject: { path: '/bot{credential}/**' },
        source: { env: 'REAL_TOKEN', i_accept_environment: true },
        placeholder: {
          env: ['TELEGRAM_TOKEN', 'BOT_TOKEN'],
          file: '~/.config/bot/bot.toml',
          text: 'token = "{placeholder}"\n',
          prefix: '123456:',
        },
      },
      unset: { hosts: ['api.telegram.example'], inject: { query: 'x' }, placeholder: { env: 'UNSET_KEY' } },
    },
    upstream: { ca: readableByAll(ca.path), resolve: { 'api.telegram.example': upstream.address } },
  });
});

afterAll(async () => {
  await upstream.close();
  ground.remove();
});

test('a bot finds its token in a variable and in its file, and the far side gets the real one', async () => {
  const script = [
    'echo "$TELEGRAM_TOKEN"; echo "$BOT_TOKEN"; cat ~/.config/bot/bot.toml; stat -c %a ~/.config/bot/bot.toml',
    'echo "[$UNSET_KEY]"; curl -sS "https://api.telegram.example/bot$BOT_TOKEN/getMe"',
  ].join('\n');
  const { code, stdout, stderr } = await ground.sallyport('root', ['run', '--', 'sh', '-c', script], {
    env: { REAL_TOKEN: token },
  });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(`${words}\n${words}\ntoken = "${words}"\n600\n[]\nan answer\n`);
  expect(upstream.seen.map(({ url }) => url)).toEqual([`/bot${token}/getMe`]);
  expect(ground.journal('root').at(-1)).toMatchObject({ credential: 'telegram', path: `/bot${words}/getMe` });
});
