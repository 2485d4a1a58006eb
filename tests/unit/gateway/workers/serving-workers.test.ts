import { afterEach, describe, expect, test } from 'vitest';
import type { WorkerChannel } from '../../../../src/gateway/workers/fork-worker.ts';
import { ServingWorkers } from '../../../../src/gateway/workers/serving-workers.ts';
import { listenOf, type WorkerJournalState } from '../../../../src/gateway/workers/worker-verbs.ts';

const silent: number[] = [];
const workers = new ServingWorkers(({ pid }) => silent.push(pid!));
const journal: WorkerJournalState = {
  healthy: true,
  reason: '',
  seq: 5,
  queued: 0,
  files: 1,
  room: 1,
  head: null,
  closed: false,
};
const idle = { openConnections: 0, openCircuits: 0, journal };

function worker(pid: number) {
  const life = {
    pid,
    handing: 0,
    killed: false,
    channel: {} as WorkerChannel,
    kill() {
      life.killed = true;
    },
  };
  workers.add(life);
  return life;
}

afterEach(() => workers.stop());

describe('workers that serve', () => {
  test('one that says nothing for half a minute is ended; one that does is not', () => {
    const [stopped, alive] = [worker(1), worker(2)];
    for (let i = 0; i < 30; i++) {
      workers.look();
      workers.noteBeat(alive, idle);
    }
    expect([stopped.killed, alive.killed]).toEqual([false, false]);
    workers.look();
    expect([stopped.killed, alive.killed]).toEqual([true, false]);
    expect(silent).toEqual([1]);
    expect(workers.takers()).toHaveLength(1);
  });

  test('what they have open is what they said last, and nothing when they are gone', () => {
    const [one, other] = [worker(3), worker(4)];
    workers.noteBeat(one, { ...idle, openConnections: 3, openCircuits: 1 });
    workers.noteBeat(other, { ...idle, openConnections: 4 });
    workers.noteBeat(one, { openConnections: 2, openCircuits: 1, journal: { ...journal, seq: 9 } });
    expect([workers.openConnections, workers.openCircuits]).toEqual([6, 1]);
    expect(workers.journals.slice(-2).map(({ seq }) => seq)).toEqual([9, 5]);
    workers.delete(one);
    expect([workers.openConnections, workers.openCircuits]).toEqual([4, 0]);
  });
});

test('open doors are opened again by the addresses and ports they have', () => {
  const open = { proxies: ['127.0.0.1:8080', '[::1]:8081'], mtls: ['[2001:db8::1]:8443'], gateways: ['172.30.0.2'] };
  expect(listenOf(open)).toEqual({
    proxy: [
      { host: '127.0.0.1', port: 8080 },
      { host: '::1', port: 8081 },
    ],
    mtls: [{ host: '2001:db8::1', port: 8443 }],
    gateway: ['172.30.0.2'],
  });
});
