import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

type Heard = (event: { readonly data: string }) => void;

/** As much of a browser's stream as the page needs, in the hands of the test. */
class FakeStream {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static all: FakeStream[] = [];
  readonly url: string;
  readyState = FakeStream.CONNECTING;
  readonly #listeners = new Map<string, Heard[]>();

  constructor(url: string) {
    this.url = url;
    FakeStream.all.push(this);
  }

  addEventListener(name: string, heard: Heard): void {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), heard]);
  }

  close(): void {
    this.readyState = FakeStream.CLOSED;
  }

  open(): void {
    this.readyState = FakeStream.OPEN;
    this.tell('open', null);
  }

  tell(name: string, value: unknown): void {
    for (const heard of this.#listeners.get(name) ?? []) heard({ data: JSON.stringify(value) });
  }
}

interface Listener {
  onState(state: unknown): void;
  onPart(name: string, value: unknown): void;
  onConnection(connection: string): void;
}

interface Asked {
  readonly word: string;
  answer(status: number, value: unknown): void;
}

let asked: Asked[];
let stored: Map<string, string>;
let shown: string[];
let listen: (listener: Listener) => void;
let loaded = 0;

beforeEach(async () => {
  vi.useFakeTimers();
  asked = [];
  stored = new Map([['sallyport-visit', 'first-word']]);
  shown = [];
  FakeStream.all = [];
  vi.stubGlobal('EventSource', FakeStream);
  vi.stubGlobal('location', { hash: '', pathname: '/' });
  vi.stubGlobal('localStorage', { getItem: (key: string) => stored.get(key) ?? null });
  vi.stubGlobal('fetch', (_path: string, { headers }: { headers: Record<string, string> }) => {
    return new Promise((resolve) => {
      const answer = (status: number, value: unknown): void =>
        resolve({ ok: status === 200, status, text: async () => JSON.stringify(value) });
      asked.push({ word: headers['x-sallyport-csrf'] ?? '', answer });
    });
  });
  // Plain JavaScript for browsers, made anew for each test: it reads its address when it is loaded.
  const page = `${pathToFileURL('dashboard/gateway.js').href}?${++loaded}`;
  ({ listen } = (await import(page)) as { listen: typeof listen });
  listen({
    onState: (state) => shown.push(`state ${JSON.stringify(state)}`),
    onPart: (name, value) => shown.push(`${name} ${JSON.stringify(value)}`),
    onConnection: (connection) => shown.push(connection),
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const soon = () => vi.advanceTimersByTimeAsync(1);

describe('what is newer', () => {
  test('is not undone by the whole state, which was asked for before it and came later', async () => {
    const [stream] = FakeStream.all;
    stream!.open();
    stream!.tell('questions', ['q1']);
    stream!.tell('requests', { lines: ['r1'] });
    asked[0]!.answer(200, { questions: [] });
    await soon();
    stream!.tell('questions', []);
    expect(shown).toEqual([
      'connecting',
      'state {"questions":[]}',
      'questions ["q1"]',
      'requests {"lines":["r1"]}',
      'live',
      'questions []',
    ]);
  });

  test('is not undone by an answer for a stream that was given up', async () => {
    const [first] = FakeStream.all;
    first!.open();
    first!.tell('error', null);
    asked[1]!.answer(200, { of: 'the second' });
    await soon();
    asked[0]!.answer(200, { of: 'the first' });
    await soon();
    expect(shown.filter((text) => text.startsWith('state'))).toEqual(['state {"of":"the second"}']);
  });
});

describe('a stream that nothing comes from', () => {
  test('is not called live: what carries it may be gone without a word', async () => {
    FakeStream.all[0]!.open();
    asked[0]!.answer(200, {});
    await vi.advanceTimersByTimeAsync(40_000);
    expect(shown.at(-1)).toBe('live');
    FakeStream.all[0]!.tell('alive', {});
    await vi.advanceTimersByTimeAsync(40_000);
    expect(shown.at(-1)).toBe('live');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(shown.at(-1)).toBe('reconnecting');
    expect(FakeStream.all.map(({ readyState }) => readyState)).toEqual([FakeStream.CLOSED, FakeStream.CONNECTING]);
  });

  test('is asked for again when it was never answered, and one that has ended is not', async () => {
    await vi.advanceTimersByTimeAsync(46_000);
    expect(FakeStream.all).toHaveLength(2);
    FakeStream.all[1]!.tell('error', null);
    asked[0]!.answer(401, {});
    await vi.advanceTimersByTimeAsync(200_000);
    expect(shown.at(-1)).toBe('ended');
    expect(FakeStream.all).toHaveLength(2);
  });
});

test('a page of an earlier visit does not ask with a word that is no longer good', async () => {
  stored.set('sallyport-visit', 'second-word');
  FakeStream.all[0]!.open();
  expect(asked[0]!.word).toBe('second-word');
  FakeStream.all[0]!.tell('error', null);
  asked[1]!.answer(200, {});
  await vi.advanceTimersByTimeAsync(1_000);
  expect(FakeStream.all.map(({ url }) => url)).toEqual(['/api/events?word=first-word', '/api/events?word=second-word']);
});
