import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Spool } from '../../../../../src/kit/files/spool.ts';
import { ClientGone } from '../../../../../src/path/exchange/client-gone.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { withBody } from '../../../path/exchange/scripted-exchange.ts';
import {
  expectRoomBack,
  ground,
  makeSpoolDirectory,
  pushing,
  refusedWith,
  strict,
  turns,
  wordsOf,
} from './git-judged-push.ts';

describe('what cannot be judged is refused', () => {
  test('what is not git at all, before a byte of it is read', async () => {
    const { server, good } = ground();
    const exchange = withBody([good]);
    const { result } = pushing(exchange, server, { fields: [['Content-Type', 'text/plain']] });
    expect((await refusedWith(result)).code).toBe('git.malformed');
    expect(exchange.to).toBeNull();
  });

  test('commands that cannot be read: by a status, because the client cannot be answered in its words', async () => {
    const { server } = ground();
    const { opened, result } = pushing(withBody([Buffer.from('zzzz')]), server);
    const refusal = await refusedWith(result);
    expect([refusal.code, refusal.status, refusal.inProtocol]).toEqual(['git.malformed', 400, null]);
    expect(opened).toEqual([]);
  });

  test('a pack that is broken, in words of git, after all of it was read', async () => {
    const { server, good } = ground();
    const broken = Buffer.from(good);
    broken[good.length - 1]! ^= 1;
    const exchange = withBody([broken.subarray(0, 300), broken.subarray(300)]);
    const refusal = await refusedWith(pushing(exchange, server).result);
    expect(refusal.code).toBe('git.malformed');
    expect(wordsOf(refusal)).toContain('the checksum of the pack is wrong');
    expect(exchange.bytesIn).toBe(broken.length);
  });

  test('one that is too large: in words of git where it ends in time, else by a status', async () => {
    const { server, good } = ground();
    const policy = { ...strict, limits: { ...strict.limits, pushBytes: good.length - 10 } };
    const near = await refusedWith(
      pushing(withBody([good.subarray(0, 300), good.subarray(300)]), server, { policy }).result,
    );
    expect(near.code).toBe('limit.push-size');
    expect(wordsOf(near)).toContain('Push in parts');
    const endless = [good, ...Array.from({ length: 50 }, () => Buffer.alloc(100_000))];
    const far = await refusedWith(pushing(withBody(endless), server, { policy }).result);
    expect([far.code, far.status, far.inProtocol]).toEqual(['limit.push-size', 413, null]);
  });

  test('no room on disk: in words of git, and the room is free again at once', async () => {
    const { server, good } = ground();
    const spool = new Spool(makeSpoolDirectory(), () => 200);
    const refusal = await refusedWith(
      pushing(withBody([good.subarray(0, 100), good.subarray(100)]), server, { spool }).result,
    );
    expect([refusal.code, refusal.rule]).toEqual(['limit.push-size', 'limits.spool_bytes']);
    expect(wordsOf(refusal)).toContain('no room left');
    expect(spool.bytes).toBe(0);
  });

  test('a server that cannot be asked: its refusal, in words of git, and its cause for the operator alone', async () => {
    const { server, good } = ground();
    server.refs = async () => {
      throw new Refusal('credential.missing', 'the credential github is not set', { cause: 'a secret cause' });
    };
    const refusal = await refusedWith(pushing(withBody([good]), server).result);
    expect([refusal.code, refusal.cause]).toEqual(['credential.missing', 'a secret cause']);
    expect(wordsOf(refusal)).toContain('the credential github is not set');
    expect(wordsOf(refusal)).not.toContain('secret cause');
  });

  test('a fault of our own is no finding: it is thrown as it is', async () => {
    const { server, good } = ground();
    const fault = new TypeError('x is undefined');
    server.objects = async () => {
      throw fault;
    };
    await expect(pushing(withBody([good]), server).result).rejects.toBe(fault);
    const spool = new Spool(join(makeSpoolDirectory(), 'none'), () => 1_000_000);
    await expect(pushing(withBody([good]), server, { spool }).result).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a client that goes away ends the judgement, wherever it stands', () => {
  test.each([
    ['before its commands', 0],
    ['within them', 50],
    ['within its pack', 250],
  ])('%s', async (_, bytes) => {
    const { server, good } = ground();
    const exchange = withBody(bytes === 0 ? [] : [good.subarray(0, bytes)], 'goes on');
    const { flow, spool, result } = pushing(exchange, server);
    await turns();
    exchange.onAbandoned?.();
    await expect(result).rejects.toThrow(ClientGone);
    expect(server.asked).toEqual([]);
    await expectRoomBack(flow, spool);
  });

  test.each(['refs', 'objects'] as const)('while the server is asked for %s, which is told', async (question) => {
    const { server, good } = ground();
    const exchange = withBody([good]);
    let asked: (() => void) | undefined;
    const reached = new Promise<void>((resolve) => {
      asked = resolve;
    });
    server[question] = (): Promise<never> => {
      asked?.();
      return new Promise((_, reject) => opened[0]?.addEventListener('abort', () => reject(new Error('given up'))));
    };
    const { flow, spool, opened, result } = pushing(exchange, server);
    const ended = expect(result).rejects.toThrow(ClientGone);
    await reached;
    exchange.onAbandoned?.();
    await ended;
    expect(opened[0]?.aborted).toBe(true);
    await expectRoomBack(flow, spool);
  });

  test('also when the server answers all the same: nothing is handed on for nobody', async () => {
    const { server, good } = ground();
    const exchange = withBody([good]);
    const refs = server.refs.bind(server);
    server.refs = async (prefixes) => {
      exchange.onAbandoned?.();
      return refs(prefixes);
    };
    await expect(pushing(exchange, server).result).rejects.toThrow(ClientGone);
  });
});
