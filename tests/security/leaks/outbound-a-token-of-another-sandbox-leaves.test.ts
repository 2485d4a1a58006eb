// Must not happen: a token that was minted for one sandbox, and that another has got hold of, is used by that other.
import { request } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AppGround, openAppGround } from '../../integration/github-app-ground.ts';
import { TunnelAgent } from '../../support/tunnel-client.ts';
import { outbound } from './outbound-ground.ts';

let ground: AppGround;

beforeAll(async () => {
  ground = await openAppGround();
});

afterAll(() => ground.stop());

test('a token that was minted for another sandbox does not leave, to GitHub itself neither', async () => {
  const first = await ground.sandbox(['acme/widgets']);
  expect((await first.fetchRefs('acme/widgets')).status).toBe(200);
  const { token } = ground.minted[0]!;
  const registered = await ground.gateway.register({ proof: ['socket'], repos: ['acme/gadgets'] });
  const { socket } = registered.grant as { socket: string };
  ground.upstream.seen.length = 0;
  const agent = new TunnelAgent({ socketPath: socket }, ground.gateway.caPath);
  const body = await new Promise<string>((resolve, reject) => {
    const headers = { authorization: `token ${token}` };
    const asked = request({ host: 'api.github.com', path: '/repos/acme/gadgets', agent, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve(text));
    });
    asked.on('error', reject);
    asked.end();
  }).finally(() => agent.destroy());
  expect(JSON.parse(body)).toMatchObject({ code: outbound });
  expect(body).not.toContain(token);
  expect(ground.upstream.seen).toEqual([]);
});
