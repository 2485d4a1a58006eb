import { describe, expect, test } from 'vitest';
import { createApprovalsRelay } from '../../../../src/gateway/workers/approvals-relay.ts';
import { type ApprovalsServerParts, createApprovalsServer } from '../../../../src/gateway/workers/approvals-server.ts';
import { readFromWorker } from '../../../../src/gateway/workers/read-from-worker.ts';
import type { ApprovalVerbs, ToWorker } from '../../../../src/gateway/workers/worker-verbs.ts';
import type { AccessRequest, Asked, Verdict } from '../../../../src/path/approvals.ts';
import { eventually } from '../../../support/eventually.ts';
import { pairedChannels } from './paired-channels.ts';

const asked: Asked = {
  sandbox: 'one',
  method: 'POST',
  scheme: 'https',
  host: 'far.example',
  port: 443,
  path: '/v1/things',
  query: 'q=1',
  rule: 'allow[0]',
  credential: null,
  effect: null,
  repository: null,
  requestId: 'r-1',
  reason: null,
};
const accessRequest: AccessRequest = {
  method: 'GET',
  scheme: 'https',
  host: 'a.example',
  port: 443,
  path: '/',
  reason: 'to read it',
};
const granted: Verdict = { granted: true, how: 'once by a person' };
const gone: Verdict = { granted: false, why: 'gone', by: null };

interface Open {
  readonly asked: Asked;
  readonly signal: AbortSignal;
  answer(verdict: Verdict): void;
}

/** A worker, the gateway's own process, and questions that the test answers. */
function ground() {
  const open: Open[] = [];
  const told: string[] = [];
  const parts: ApprovalsServerParts = {
    asking: {
      ask: (what, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(gone));
          open.push({ asked: what, signal, answer: resolve });
        }),
    },
    inside: {
      refusalsOf: async (sandbox) => {
        told.push(`refusals of ${sandbox}`);
        return [];
      },
      accessRequest: async (sandbox) => {
        told.push(`accessRequest of ${sandbox}`);
        return { refused: 'too-many' };
      },
      accessRequestsOf: async (sandbox) => {
        told.push(`accessRequests of ${sandbox}`);
        return [];
      },
    },
    isRegistered: (sandbox) => sandbox === 'one',
  };
  const server = createApprovalsServer(parts);
  const nonsense: Error[] = [];
  const { ask, withdrawQuestion, refusalsOf, accessRequest: readAccessRequest, accessRequestsOf } = readFromWorker;
  const [, channel] = pairedChannels<ApprovalVerbs, ToWorker>(
    {
      handlers: server.handlers,
      readers: { ask, withdrawQuestion, refusalsOf, accessRequest: readAccessRequest, accessRequestsOf },
      onNonsense: (error) => nonsense.push(error),
    },
    { handlers: {} as never, onNonsense: (error) => nonsense.push(error) },
  );
  let flushed = 0;
  const relay = createApprovalsRelay({ channel: channel as never, flushRecords: () => flushed++ });
  return { open, told, server, nonsense, channel, relay, flushed: () => flushed };
}

const never = new AbortController().signal;

describe('a worker asks people through the main process', () => {
  test('a question waits until it is answered, and has the answer', async () => {
    const { relay, open } = ground();
    const verdict = relay.asking.ask(asked, never);
    const question = await eventually(() => open[0], 'it is asked');
    expect(question.asked).toEqual(asked);
    question.answer(granted);
    expect(await verdict).toEqual(granted);
  });

  test('one whose client has left is withdrawn, and only that one', async () => {
    const { relay, open } = ground();
    const left = new AbortController();
    const verdicts = [relay.asking.ask(asked, left.signal), relay.asking.ask({ ...asked, path: '/other' }, never)];
    await eventually(() => open.length === 2, 'both are asked');
    left.abort();
    expect(await verdicts[0]).toEqual(gone);
    expect(open[1]!.signal.aborted).toBe(false);
    open[1]!.answer(granted);
    expect(await verdicts[1]).toEqual(granted);
  });

  test('one whose client has left before it was asked is not asked', async () => {
    const { relay, open } = ground();
    expect(await relay.asking.ask(asked, AbortSignal.abort())).toEqual(gone);
    expect(open).toEqual([]);
  });

  test('all questions of a worker that has ended are withdrawn', async () => {
    const { relay, open, server } = ground();
    void relay.asking.ask(asked, never);
    void relay.asking.ask(asked, never);
    await eventually(() => open.length === 2, 'both are asked');
    server.gone();
    expect(open.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });

  test('a question is not granted when the main process is gone', async () => {
    const { relay, open, channel } = ground();
    const verdict = relay.asking.ask(asked, never);
    await eventually(() => open[0], 'it is asked');
    channel.close();
    await expect(verdict).rejects.toThrow();
  });

  test('the page inside asks there too, when what was refused before is on its way', async () => {
    const { relay, told, flushed } = ground();
    await relay.inside.refusalsOf('one');
    expect(flushed()).toBe(1);
    expect(await relay.inside.accessRequest('one', accessRequest)).toEqual({ refused: 'too-many' });
    await relay.inside.accessRequestsOf('one');
    expect(told).toEqual(['refusals of one', 'accessRequest of one', 'accessRequests of one']);
  });
});

describe('whatever a sandbox makes of its request', () => {
  test('a method that may be many others is asked about too', async () => {
    const { relay, open } = ground();
    const method = `POST (as ${'X'.repeat(900)})`;
    const verdict = relay.asking.ask({ ...asked, method }, never);
    (await eventually(() => open[0], 'it is asked')).answer(granted);
    expect(await verdict).toEqual(granted);
  });
});

describe('a worker is not believed more than it must be', () => {
  test('it asks for no sandbox that does not exist, and hears of none', async () => {
    const { relay, open, told } = ground();
    expect(await relay.asking.ask({ ...asked, sandbox: 'another' }, never)).toEqual(gone);
    expect(await relay.inside.refusalsOf('another')).toEqual([]);
    expect(await relay.inside.accessRequest('another', accessRequest)).toEqual({ refused: 'nobody-watches' });
    expect(await relay.inside.accessRequestsOf('another')).toEqual([]);
    expect([open, told]).toEqual([[], []]);
  });

  test('it cannot ask twice under one number, which would leave the first one waiting for ever', async () => {
    const { open, channel } = ground();
    void channel.ask('ask' as never, { number: 7, asked } as never).catch(() => {});
    await eventually(() => open[0], 'it is asked');
    await expect(channel.ask('ask' as never, { number: 7, asked } as never)).rejects.toThrow('waits already');
    expect(open).toHaveLength(1);
  });

  test.each([
    ['a path without end', { ...asked, path: 'x'.repeat(9_000) }],
    ['a member more', { ...asked, granted: true }],
    ['no request and no sandbox', { method: 'GET' }],
    ['another scheme', { ...asked, scheme: 'file' }],
  ])('what is not a question is nonsense: %s', async (_what, body) => {
    const { open, nonsense, channel } = ground();
    channel.tell('ask' as never, { number: 1, asked: body } as never);
    await eventually(() => nonsense.length === 1, 'it is not taken');
    expect(open).toEqual([]);
  });
});
