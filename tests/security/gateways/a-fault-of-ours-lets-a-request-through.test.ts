import { afterEach, describe, expect, test } from 'vitest';
import { createRequestServer } from '../../../src/gateway/serve-request.ts';
import { Sweeper } from '../../../src/kit/sweeper.ts';
import { createLog } from '../../../src/kit/text/log.ts';
import { HeaderList } from '../../../src/path/exchange/header-list.ts';
import { OutgoingRequest } from '../../../src/path/exchange/outgoing-request.ts';
import type { Arrived, Forwarded } from '../../../src/path/flow.ts';
import { admissionPath, requestPath, type Stages } from '../../../src/path/paths.ts';
import { createAcceptStage } from '../../../src/stages/accept/accept-stage.ts';
import { Doors } from '../../../src/stages/accept/doors/doors.ts';
import { createAudit } from '../../../src/stages/audit/audit-stage.ts';
import { sandboxWith } from '../../support/hand-made-flow.ts';
import { openGate } from '../../support/hand-made-gate.ts';
import { sendPlain } from '../../support/raw-client.ts';

const planted = 'the database password is tiger';
let close: (() => Promise<void>) | null = null;

afterEach(async () => {
  await close?.();
});

type StageName = keyof Stages;

/** A door with the whole path behind it, in which one stage fails in a way nobody foresaw. */
async function openBrokenDoor(broken: StageName | null, how: 'throws' | 'rejects' | 'throws-late' | 'throws-a-string') {
  const ran: string[] = [];
  const lines: string[] = [];
  const fail = (): never => {
    throw how === 'throws-a-string' ? planted : new Error(planted);
  };
  const guard = <T>(name: StageName, facts: () => T) => ({
    name,
    run: (flow: Arrived): never => {
      ran.push(name);
      if (name === broken && how === 'rejects') return Promise.reject(new Error(planted)) as never;
      if (name === broken && how === 'throws-late') {
        const { exchange } = flow as Forwarded;
        exchange
          .respond({ status: 200, reason: 'OK', headers: new HeaderList(), framing: { kind: 'length', bytes: 9 } })
          .flush();
      }
      if (name === broken) fail();
      return Object.assign(flow, facts()) as never;
    },
  });
  const accept = createAcceptStage('test');
  const stages: Stages = {
    accept: broken === 'accept' ? guard('accept', () => ({})) : accept,
    identify: guard('identify', () => ({ sandbox: sandboxWith() })),
    authorize: guard('authorize', () => ({ permission: { rule: 'r', tunnel: false, credential: null } })),
    inject: guard('inject', () => ({ outgoing: new OutgoingRequest('/', new HeaderList()), injected: null })),
    forward: {
      name: 'forward',
      run(flow) {
        const next = guard('forward', () => ({ status: 200, upstreamAddress: null })).run(flow);
        if (Object.is(next, flow)) flow.exchange.answer(200, new HeaderList(), Buffer.from('fine'));
        return next;
      },
    },
  };
  const audit = createAudit({
    journal: { append: () => true, healthy: true, state: { kind: 'open' } } as never,
    metrics: { count: () => {}, countUnrecorded: () => {} },
    feed: { publish: () => {} },
    log: createLog({ format: 'json', write: (line) => lines.push(line) }),
  });
  const sweeper = new Sweeper();
  const doors = new Doors({
    ports: {
      ...createRequestServer({
        path: requestPath(stages),
        admission: admissionPath(stages),
        finish: audit.finish,
        requireJournal: audit.requireJournal,
      }),
      confirm: () => null,
      countQuestion: () => null,
      answersUnknown: () => false,
      contextFor: () => {
        throw new Error(planted);
      },
      settings: () => ({
        sweeper,
        headBytes: 65_536,
        requestBodyBytes: 0,
        clientHeadTimeoutMs: 30_000,
        idleTimeoutMs: 60_000,
        carriesCredential: () => false,
      }),
    },
    gate: openGate,
  });
  const address = await doors.openTcp('127.0.0.1', 0);
  close = async () => {
    await doors.drain(0);
    sweeper.stop();
  };
  return { host: '127.0.0.1', port: Number(address.split(':')[1]), ran, lines };
}

const request = 'GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n';
const connect = 'CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\nConnection: close\r\n\r\n';
const order: StageName[] = ['accept', 'identify', 'authorize', 'inject', 'forward'];

describe('a stage that fails is a stage that refuses', () => {
  const ways = order.flatMap((stage) =>
    (['throws', 'rejects', 'throws-a-string'] as const).map((how) => [stage, how] as const),
  );

  test.each(ways)('%s %s', async (stage, how) => {
    const door = await openBrokenDoor(stage, how);
    const answer = await sendPlain(door, request);
    expect([answer.statuses, answer.code]).toEqual([[500], 'internal.error']);
    expect(answer.text).not.toContain('tiger');
    const { request_id: id } = JSON.parse(answer.text.split('\r\n\r\n')[1]!) as { request_id: string };
    expect(id).toMatch(/^[0-9a-f]+-\w+$/);
    // Nothing behind it ran.
    const last = stage === 'accept' ? ['accept'] : order.slice(1, order.indexOf(stage) + 1);
    expect(door.ran).toEqual(last);
    const log = door.lines.join('');
    expect(log).toContain(id);
    expect(log).toContain('tiger');
  });

  test.each(['accept', 'identify', 'authorize'] as const)('%s, when a tunnel is asked for', async (stage) => {
    const door = await openBrokenDoor(stage, 'throws');
    const answer = await sendPlain(door, connect);
    expect([answer.statuses, answer.code]).toEqual([[500], 'internal.error']);
    expect(answer.text).not.toContain('tiger');
  });

  test('a stage that takes its time over a tunnel opens none', async () => {
    const door = await openBrokenDoor('authorize', 'rejects');
    const answer = await sendPlain(door, connect);
    expect([answer.statuses, answer.code]).toEqual([[500], 'internal.error']);
  });

  test('a fault after the answer has begun breaks it off', async () => {
    const door = await openBrokenDoor('forward', 'throws-late');
    const answer = await sendPlain(door, request);
    expect(answer.closed).toBe(true);
    expect(answer.statuses).toEqual([200]);
    expect(answer.text.endsWith('\r\n\r\n')).toBe(true);
  });

  test('without a fault the same door serves', async () => {
    const door = await openBrokenDoor(null, 'throws');
    const answer = await sendPlain(door, request);
    expect(answer.statuses).toEqual([200]);
    expect(door.ran).toEqual(order.slice(1));
  });
});
