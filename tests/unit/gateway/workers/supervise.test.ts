import { describe, expect, test } from 'vitest';
import { Supervisor, type WorkerLife } from '../../../../src/gateway/workers/supervise.ts';

interface PretendLife extends WorkerLife {
  readonly worker: number;
  serve(): void;
  fail(error: Error): void;
  die(how?: string): void;
  drained: number | null;
}

function supervised(count = 2) {
  const lives: PretendLife[] = [];
  const waits: number[] = [];
  const said: string[] = [];
  let nowMs = 0;
  const say = (what: string): void => {
    said.push(what);
  };
  const supervisor = new Supervisor({
    count,
    log: { info: say, warn: say, error: say },
    now: () => nowMs,
    wait: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
  });
  const startWorker = (worker: number): PretendLife => {
    let serve = (): void => {};
    let fail = (_: Error): void => {};
    let die = (_: string): void => {};
    const ready = new Promise<void>((resolve, reject) => {
      serve = resolve;
      fail = reject;
    });
    ready.catch(() => {});
    const ended = new Promise<string>((resolve) => {
      die = resolve;
    });
    const life: PretendLife = {
      worker,
      pid: lives.length + 100,
      ready,
      ended,
      serve,
      fail,
      die: (how = 'ended by SIGKILL') => {
        fail(new Error(how));
        die(how);
      },
      drained: null,
      drain: (graceMs) => {
        life.drained = graceMs;
      },
      kill: () => life.die('killed'),
    };
    lives.push(life);
    return life;
  };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { supervisor, startWorker, lives, waits, said, pass };
}

async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

async function started(count = 2) {
  const ground = supervised(count);
  const starting = ground.supervisor.start(ground.startWorker);
  for (const life of ground.lives) life.serve();
  await starting;
  return ground;
}

describe('the workers of a gateway', () => {
  test('are so many, and it says so', async () => {
    const { supervisor } = await started();
    expect(supervisor.describe()).toBe('2 of 2 live, restarted 0 times');
  });

  test('another comes in the place of one that has died', async () => {
    const { supervisor, lives } = await started();
    lives[0]!.die();
    await turns();
    expect(supervisor.live).toBe(1);
    expect(lives[2]).toMatchObject({ worker: 1 });
    lives[2]!.serve();
    await turns();
    expect(supervisor.describe()).toBe('2 of 2 live, restarted once');
  });

  test('one that dies at once again and again is started ever more slowly, it is told, and it never stops trying', async () => {
    const { supervisor, lives, waits, said } = await started(1);
    for (let i = 0; i < 12; i++) {
      lives.at(-1)!.serve();
      await turns();
      lives.at(-1)!.die();
      await turns();
    }
    expect(lives).toHaveLength(13);
    expect(waits.slice(0, 4)).toEqual([100, 200, 400, 800]);
    expect(Math.max(...waits)).toBe(5_000);
    expect(supervisor.isFailing).toBe(true);
    expect(supervisor.describe()).toContain('12 have died in the last minute');
    expect(said).toContain('workers die faster than they should be started');
  });

  test('one that has served for long is started anew at once', async () => {
    const { lives, waits, pass } = await started(1);
    lives[0]!.die();
    await turns();
    lives[1]!.serve();
    await turns();
    pass(60_000);
    lives[1]!.die();
    await turns();
    expect(waits).toEqual([100, 50]);
  });

  test('of one that cannot be started anew it is not said that connections were lost', async () => {
    const { lives, said } = await started(1);
    lives[0]!.die();
    await turns();
    lives[1]!.fail(new Error('no room'));
    await turns();
    expect(lives).toHaveLength(3);
    expect(said.filter((what) => what.includes('connections are lost'))).toHaveLength(1);
    expect(said.at(-1)).toBe('a worker could not be started');
  });

  test('one that cannot start ends the start, and the others with it', async () => {
    const { supervisor, startWorker, lives } = supervised();
    const starting = supervisor.start(startWorker);
    lives[0]!.serve();
    lives[1]!.fail(new Error('the port is taken'));
    await expect(starting).rejects.toThrow('the port is taken');
    expect(await Promise.all(lives.map(({ ended }) => ended))).toEqual(['killed', 'killed']);
    expect(supervisor.live).toBe(0);
  });

  test('when it ends, all are asked to, and none is started anew', async () => {
    const { supervisor, lives } = await started();
    const stopping = supervisor.stop(1_000);
    expect(lives.map(({ drained }) => drained)).toEqual([1_000, 1_000]);
    for (const life of lives) life.die('ended with code 0');
    await stopping;
    await turns();
    expect(lives).toHaveLength(2);
  });
});
