import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createContext } from '../../../../src/cli/cli-context.ts';
import { followGateway } from '../../../../src/cli/watch/follow-gateway.ts';
import { watchInLines } from '../../../../src/cli/watch.ts';
import { AdminRefused, GatewayUnreachable } from '../../../../src/gateway/admin/admin-client.ts';
import { startFake } from '../../gateway/admin/fake-ports.ts';
import { request } from './watch-ground.ts';

type Admin = Parameters<typeof followGateway>[0];
type Life = 'ends' | 'breaks' | 'absent' | 'unready';

/** A gateway that goes through these lives, one for each attempt, and is then waited for no longer. */
async function follow(lives: readonly Life[]): Promise<string[]> {
  const heard: string[] = [];
  const over = new AbortController();
  let at = 0;
  const admin = {
    async call() {
      const life = lives[at++];
      if (life === undefined) over.abort();
      if (life === 'absent') throw new GatewayUnreachable('the gateway is not running');
      if (life === 'unready') throw new AdminRefused(503, 'x', 'not ready', '');
      return { ready: true, version: '1', sandboxes: 0 };
    },
    async *lines() {
      yield { event: 'request', data: { host: `life ${at}` } };
      if (lives[at - 1] === 'breaks') throw new GatewayUnreachable('the gateway closed the connection');
    },
  } as unknown as Admin;
  const follower = {
    onEvent: ({ data }: { readonly data?: unknown }) => heard.push((data as { host: string }).host),
    onGateway: ({ ready }: { readonly ready: boolean }) => heard.push(ready ? 'there' : 'not ready'),
    onLost: (message: string) => heard.push(message),
  };
  await followGateway(admin, follower, over.signal, async () => {}).catch((error) =>
    heard.push(`threw ${error.message}`),
  );
  return heard;
}

describe('the live events of a gateway', () => {
  test('go on when it restarts, and it is said that it was gone', async () => {
    expect((await follow(['ends', 'breaks', 'absent', 'unready'])).slice(0, 9)).toEqual([
      'there',
      'life 1',
      'the gateway has closed the connection',
      'there',
      'life 2',
      'the gateway closed the connection; trying again',
      'the gateway is not running; trying again',
      'not ready',
      'life 4',
    ]);
  });

  test('cannot be had where there is no gateway to begin with', async () => {
    expect(await follow(['absent'])).toEqual(['threw the gateway is not running']);
  });
});

describe('sallyport watch in a pipe', () => {
  test.each([
    { json: false, line: /allowed +200 +GET +api\.example\.com\/v1\/models/ },
    { json: true, line: /^\{"event":"request","data":\{.*"host":"api\.example\.com"/ },
  ])('prints a line for each event (json: $json) and ends when it is told to', async ({ json, line }) => {
    const gateway = await startFake();
    const over = new AbortController();
    try {
      gateway.ports.questions.watch = async function* () {
        yield request() as never;
        await new Promise(() => {});
      };
      const lines: string[] = [];
      const write = (text: string): void => {
        lines.push(text);
        over.abort();
      };
      const parts = { env: { SALLYPORT_HOME: gateway.home }, cwd: '/', stdin: Readable.from([]) };
      await watchInLines(createContext({ ...parts, stdout: { write }, stderr: { write } }), json, over.signal);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(line);
    } finally {
      await gateway.stop();
    }
  });
});
