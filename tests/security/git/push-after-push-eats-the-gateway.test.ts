// One sandbox pushes again and again, or much at a time, what takes long to judge: its own share ends, in words of git, and
// the pushes of another are judged meanwhile.
import { describe, expect, test } from 'vitest';
import { PushRoom } from '../../../src/stages/authorize/git/push-room.ts';
import { withBody } from '../../unit/path/exchange/scripted-exchange.ts';
import { ground, pushing, refusedWith, strict, wordsOf } from '../../unit/stages/authorize/git/git-judged-push.ts';

describe('the pushes of one sandbox have a share', () => {
  test('of work: what is beyond is refused before its pack is looked into, and others pass', async () => {
    const { server, good } = ground();
    const clock = { ms: 0 };
    const pushRoom = new PushRoom({ shareBytes: 40_000, bytesPerSecond: 1_000, now: () => clock.ms });
    const push = (id: string) => pushing(withBody([good]), server, { pushRoom, policy: strict, sandbox: { id } });
    const codes: string[] = [];
    for (let n = 0; n < 5; n++) {
      codes.push(
        await push('sbx_greedy').result.then(
          () => 'passed',
          (error: { code: string }) => error.code,
        ),
      );
    }
    expect(codes[0]).toBe('passed');
    expect(codes.at(-1)).toBe('limit.push-work');
    const asked = server.asked.length;
    const last = push('sbx_greedy');
    const refusal = await refusedWith(last.result);
    expect([refusal.code, refusal.rule]).toEqual([
      'limit.push-work',
      'built-in: what judging the pushes of a sandbox may cost',
    ]);
    expect(wordsOf(refusal)).toContain('ng refs/heads/sandbox/work too much to judge');
    expect(wordsOf(refusal)).toMatch(/Try again in \d+ seconds/);
    expect([server.asked.length, last.opened.length, last.spool.bytes]).toEqual([asked, 0, 0]);
    await push('sbx_other').result;
    clock.ms = 60_000;
    await push('sbx_greedy').result;
  });

  test('of memory: a push that would take more than is left is refused, and all of it is given back', async () => {
    const { server, good } = ground();
    const pushRoom = new PushRoom({ maxHeldBytes: 4_000 });
    const push = pushing(withBody([good]), server, { pushRoom });
    const refusal = await refusedWith(push.result);
    expect(refusal.code).toBe('limit.push-work');
    push.flow.trail.end();
    expect(pushRoom.heldBytes).toBe(0);
    const roomy = new PushRoom({ maxHeldBytes: 4_000_000 });
    const passed = pushing(withBody([good]), server, { pushRoom: roomy });
    await passed.result;
    passed.flow.trail.end();
    expect(roomy.heldBytes).toBe(0);
  });
});
