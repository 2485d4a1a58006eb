import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AttackGround, openAttackGround } from '../../support/attack-ground.ts';
import { sendTunnelled } from '../../support/raw-client.ts';
import { plainAnswer } from '../../support/recording-upstream.ts';

let ground: AttackGround;

beforeAll(async () => {
  ground = await openAttackGround();
});

afterAll(() => ground.stop());

async function ask(): Promise<string | number> {
  const { statuses, code } = await sendTunnelled(ground.gateway, 'api.example', ground.goodRequest);
  return code ?? statuses[0]!;
}

test('a client that never stops asking is served as soon as the upstream is back: our own refusals are not its failures', async () => {
  ground.upstream.answerWith((_request, socket) => {
    socket.destroy();
    return null;
  });
  for (let i = 0; i < 5; i++) expect(await ask()).toBe('upstream.closed');
  // Many more refusals than it takes failures to open it; one of them may have come so late that it tried.
  const burst = await Promise.all(Array.from({ length: 12 }, ask));
  expect(burst.filter((outcome) => outcome === 'upstream.circuit-open').length).toBeGreaterThan(10);
  ground.upstream.answerWith(plainAnswer);
  ground.upstream.forget();
  // And then one after the other, all through its pause.
  for (let outcome = await ask(); outcome !== 200; outcome = await ask()) {
    expect(outcome).toBe('upstream.circuit-open');
    expect(ground.upstream.requests).toEqual([]);
  }
  for (let i = 0; i < 5; i++) expect(await ask()).toBe(200);
});
