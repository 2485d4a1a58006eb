import { describe, expect, test } from 'vitest';
import { SharedRegistrations } from '../../../../src/gateway/workers/shared-registrations.ts';
import {
  type RegistrationChange,
  type RegistrationStore,
  type StoredRegistration,
  StoreUnavailable,
} from '../../../../src/path/shared-store.ts';
import { eventually } from '../../../support/eventually.ts';

function registration(id: string, expiresAtMs = 1_000): StoredRegistration {
  return { id, claims: [`id ${id}`], expiresAtMs, body: '{}' };
}

function pretendStore(): RegistrationStore & {
  change(change: RegistrationChange): unknown;
  extended: [string, number][];
} {
  let listener: (change: RegistrationChange) => unknown = () => {};
  const extended: [string, number][] = [];
  return {
    load: async () => [registration('old')],
    add: async ({ id }) => (id === 'old' ? { claim: 'id old', holder: 'old' } : null),
    replace: async () => true,
    remove: async () => ({ unconfirmed: ['gateway-b'] }),
    extend: (id, expiresAtMs) => {
      extended.push([id, expiresAtMs]);
    },
    watch: (heard) => {
      listener = heard;
    },
    change: (change) => listener(change),
    extended,
  };
}

async function ground(withinMs = 20) {
  const inner = pretendStore();
  const shared = new SharedRegistrations(inner, withinMs);
  const own: RegistrationChange[] = [];
  shared.watch((change) => own.push(change));
  await shared.load();
  const heard: Record<string, RegistrationChange[]> = {};
  const ended: string[] = [];
  const follow = (name: string, changed: () => Promise<unknown> = () => Promise.resolve()): object => {
    const worker = {};
    heard[name] = [];
    shared.follow(worker, {
      name,
      changed: (change) => {
        heard[name]!.push(change);
        return changed();
      },
      end: async () => ended.push(name),
    });
    return worker;
  };
  return { inner, shared, own, heard, ended, follow };
}

describe('registrations of a gateway with workers', () => {
  test('what is added is known to every worker when it is acknowledged', async () => {
    const { shared, heard, follow, own } = await ground();
    follow('one');
    follow('two');
    expect(await shared.add(registration('new'))).toBeNull();
    const put = { kind: 'put', registration: registration('new') };
    expect(heard).toEqual({ one: [put], two: [put] });
    expect(own).toEqual([]);
    expect(shared.all().map(({ id }) => id)).toEqual(['old', 'new']);
  });

  test('a conflict is told to nobody', async () => {
    const { shared, heard, follow } = await ground();
    follow('one');
    expect(await shared.add(registration('old'))).toMatchObject({ holder: 'old' });
    expect(heard.one).toEqual([]);
  });

  test('what one worker ends, ends in the others and in the gateway itself', async () => {
    const { shared, own, heard, follow } = await ground();
    const one = follow('one');
    follow('two');
    expect(await shared.removeFrom(one, 'old')).toEqual({ unconfirmed: ['gateway-b'] });
    const gone = { kind: 'gone', id: 'old' };
    expect(heard).toEqual({ one: [], two: [gone] });
    expect(own).toEqual([gone]);
    expect(shared.all()).toEqual([]);
  });

  test('a worker that does not let go of a sandbox is ended before the removal is acknowledged', async () => {
    const { shared, ended, follow } = await ground();
    follow('deaf', () => new Promise(() => {}));
    expect(await shared.remove('old')).toEqual({ unconfirmed: ['gateway-b'] });
    expect(ended).toEqual(['deaf']);
  });

  test('one that has died meanwhile is no reason to wait', async () => {
    const { shared, ended, follow } = await ground(60_000);
    follow('dead', () => Promise.reject(new Error('gone')));
    await shared.remove('old');
    expect(ended).toEqual([]);
  });

  test('a renewal by traffic reaches the store, the gateway and the other workers, and never shortens', async () => {
    const { inner, shared, own, heard, follow } = await ground();
    const one = follow('one');
    follow('two');
    shared.extendFrom(one, 'old', 2_000);
    shared.extendFrom(one, 'old', 1_500);
    shared.extendFrom(one, 'nobody', 9_000);
    const put = { kind: 'put', registration: registration('old', 2_000) };
    expect(inner.extended).toEqual([['old', 2_000]]);
    expect(own).toEqual([put]);
    expect(heard).toEqual({ one: [], two: [put] });
  });

  test('what another gateway changes is passed on', async () => {
    const { inner, shared, own, heard, follow } = await ground();
    follow('one');
    const all: RegistrationChange = { kind: 'all', registrations: [registration('far')] };
    inner.change(all);
    expect(own).toEqual([all]);
    expect(heard.one).toEqual([all]);
    expect(shared.all().map(({ id }) => id)).toEqual(['far']);
  });

  test('what the gateway itself makes of a change comes to workers after the change', async () => {
    const { inner, shared, heard, follow } = await ground();
    follow('one');
    const all: RegistrationChange = { kind: 'all', registrations: [registration('removed here')] };
    shared.watch((change) => (change.kind === 'all' ? void shared.remove('removed here') : null));
    inner.change(all);
    expect(heard.one).toEqual([all, { kind: 'gone', id: 'removed here' }]);
    expect(shared.all()).toEqual([]);
  });

  test.each<[string, RegistrationChange]>([
    ['is removed by another gateway', { kind: 'gone', id: 'old' }],
    ['is found to be gone', { kind: 'all', registrations: [registration('far')] }],
  ])('one that %s is gone here when every worker has let go of it, or was ended', async (_how, change) => {
    const { inner, ended, follow } = await ground();
    let isDone = (): void => {};
    follow('slow', () => new Promise<void>((resolve) => (isDone = resolve)));
    follow('deaf', () => new Promise(() => {}));
    let isOver = false;
    const over = Promise.resolve(inner.change(change)).then(() => (isOver = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    isDone();
    await over;
    expect(ended).toEqual(['deaf']);
  });

  test('a registration that is removed while workers are told of it is not acknowledged', async () => {
    const { inner, shared, heard, follow } = await ground(60_000);
    let isDone = (): void => {};
    follow('slow', () => new Promise<void>((resolve) => (isDone = resolve)));
    const adding = shared.add(registration('new'));
    await eventually(() => heard.slow!.length === 1, 'the worker is told of it');
    const putHeard = isDone;
    const removed = inner.change({ kind: 'gone', id: 'new' });
    putHeard();
    isDone();
    await expect(adding).rejects.toBeInstanceOf(StoreUnavailable);
    await removed;
    expect(shared.all().map(({ id }) => id)).toEqual(['old']);
  });

  test.each<[string, (shared: SharedRegistrations, inner: ReturnType<typeof pretendStore>) => unknown]>([
    ['here', (shared) => shared.remove('old')],
    ['by another gateway', (_shared, inner) => inner.change({ kind: 'gone', id: 'old' })],
    ['unseen', (_shared, inner) => inner.change({ kind: 'all', registrations: [] })],
  ])('a renewal that comes late does not bring back what was removed %s', async (_where, remove) => {
    const { inner, shared, heard, follow } = await ground();
    follow('one');
    let isReplaced = (_kept: boolean): void => {};
    inner.replace = () => new Promise((resolve) => (isReplaced = resolve));
    const renewing = shared.replace(registration('old', 2_000));
    await remove(shared, inner);
    isReplaced(true);
    expect(await renewing).toBe(false);
    expect(heard.one!.map(({ kind }) => kind)).not.toContain('put');
    expect(shared.all()).toEqual([]);
  });

  test('a worker that is slow to learn of what is there, or is there still, is not ended', async () => {
    const { inner, ended, follow } = await ground();
    follow('slow', () => new Promise(() => {}));
    await inner.change({ kind: 'put', registration: registration('far') });
    await inner.change({ kind: 'all', registrations: [registration('old'), registration('far')] });
    expect(ended).toEqual([]);
  });
});
