import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PartName, SharedState } from '../../../../src/gateway/dashboard/page-data.ts';
import { type PageSession, PageSessions } from '../../../../src/gateway/dashboard/page-sessions.ts';
import { PageStreams } from '../../../../src/gateway/dashboard/page-streams.ts';
import { fedRecord } from '../../../support/page-ground.ts';

/** As much of an answer as a stream needs. */
class FakeResponse extends EventEmitter {
  readonly texts: string[] = [];
  writableLength = 0;
  isDestroyed = false;

  writeHead(): void {}

  setTimeout(): void {}

  write(text: string): void {
    this.texts.push(text);
  }

  destroy(): void {
    this.isDestroyed = true;
  }

  /** The names of the events so far. */
  get names(): string[] {
    return this.texts.flatMap((text) => /^event: (\w+)/.exec(text)?.[1] ?? []);
  }
}

let sessions: PageSessions;
let nowMs: number;
let parts: Partial<Record<PartName, unknown>>;
let faults: string[];
let watched: AbortSignal[];
let streams: PageStreams;

beforeEach(() => {
  nowMs = 0;
  sessions = new PageSessions(() => nowMs);
  parts = { gateway: { version: '1', nowMs: 1 }, questions: [] };
  faults = [];
  watched = [];
  streams = new PageStreams({
    data: {
      part: async <Name extends PartName>(name: Name) => {
        if (parts[name] === undefined) throw new Error(`no ${name}`);
        return parts[name] as SharedState[Name];
      },
    },
    watch: (signal) => watched.push(signal),
    touch: (session) => sessions.touch(session),
    onFault: (what) => faults.push(what),
  });
});

afterEach(() => streams.close());

function open(session: PageSession = newSession()): FakeResponse {
  const response = new FakeResponse();
  expect(streams.add(session, response as unknown as ServerResponse)).toBe(true);
  return response;
}

function newSession(): PageSession {
  return sessions.find(sessions.open().cookie)!;
}

describe('pages are told of what has changed', () => {
  test('once for each change, and not for the clock', async () => {
    const page = open();
    await streams.sendParts(['gateway', 'questions']);
    parts.gateway = { version: '1', nowMs: 2 };
    await streams.sendParts(['gateway', 'questions']);
    expect(page.names).toEqual(['gateway', 'questions']);
    parts.questions = [{ id: 'q1' }];
    await streams.sendParts(['gateway', 'questions']);
    expect(page.names).toEqual(['gateway', 'questions', 'questions']);
  });

  test('one that comes later is told what the others know', async () => {
    open();
    await streams.sendParts(['questions']);
    const late = open();
    await streams.sendParts(['questions']);
    expect(late.names).toEqual(['questions']);
  });

  test('a part that fails is reported and the others still come', async () => {
    const page = open();
    await streams.sendParts(['sandboxes', 'questions']);
    expect(page.names).toEqual(['questions']);
    expect(faults).toEqual(['the dashboard could not be sent its sandboxes']);
  });
});

describe('a page is gone', () => {
  test('when its session has ended, and not while it is open', () => {
    const { cookie } = sessions.open();
    const page = open(sessions.find(cookie)!);
    for (let hours = 0; hours < 30; hours += 6) {
      nowMs = hours * 3_600_000;
      streams.keepAlive();
    }
    expect(page.isDestroyed).toBe(false);
    // A script hears events and no comments: without one it could not tell a quiet gateway from a dead line.
    expect(page.names).toEqual(['alive', 'alive', 'alive', 'alive', 'alive']);
    expect(sessions.find(cookie)).not.toBeNull();
    sessions.endAll();
    expect([page.isDestroyed, streams.size]).toEqual([true, 0]);
  });

  test('when more than a megabyte waits for it', () => {
    const [reading, deaf] = [open(), open()];
    deaf.writableLength = 1024 * 1024 + 2_000;
    streams.take(fedRecord());
    streams.sendFeed();
    expect([reading.isDestroyed, deaf.isDestroyed]).toEqual([false, true]);
  });

  test('somebody watches as long as one is open', () => {
    const [first, second] = [open(), open()];
    expect(watched).toHaveLength(1);
    first.emit('close');
    expect(watched[0]!.aborted).toBe(false);
    second.emit('close');
    expect(watched[0]!.aborted).toBe(true);
    open();
    expect(watched).toHaveLength(2);
  });

  test('what came while nobody looked is not told', () => {
    streams.take(fedRecord());
    const page = open();
    streams.sendFeed();
    expect(page.names).toEqual([]);
  });
});
