import { EventEmitter } from 'node:events';
import picocolors from 'picocolors';
import { describe, expect, test } from 'vitest';
import { describeStart, serveUntilSignal } from '../../../src/cli/up.ts';
import type { Gateway, StartSummary } from '../../../src/gateway/contract.ts';

const summary: StartSummary = {
  doors: ['proxy 127.0.0.1:8080'],
  adminSocket: '/home/u/run/admin.sock',
  caPath: '/home/u/ca/ca.pem',
  config: 'embedded default',
  controls: [
    { name: 'identify', live: true, detail: '2 sandboxes' },
    { name: 'journal', live: false, detail: 'the disk is full' },
  ],
  rules: 12,
  credentials: [
    { name: 'anthropic', source: 'memory', set: false },
    { name: 'github', source: 'file', set: true },
    { name: 'openai', source: 'memory', set: false, unasked: true },
    { name: 'mistral', source: 'file', set: false, error: '/run/x does not exist' },
  ],
  warnings: ['listen.dashboard is not served by this version'],
  dashboard: 'http://127.0.0.1:8642/enter?token=t0k3n',
};

class FakeSignals extends EventEmitter {
  readonly exits: number[] = [];

  exit(code: number): void {
    this.exits.push(code);
  }
}

function fakeGateway(): {
  gateway: Pick<Gateway, 'summary' | 'reload' | 'stop'>;
  calls: string[];
  drained: () => void;
  badConfig: boolean;
} {
  const state = { calls: [] as string[], drained: () => {}, badConfig: false };
  const gateway: Pick<Gateway, 'summary' | 'reload' | 'stop'> = {
    summary,
    reload: async () => {
      state.calls.push('reload');
      if (state.badConfig) throw new Error('sallyport.yaml:3:5: unknown key');
    },
    stop: () => {
      state.calls.push('stop');
      return new Promise((resolve) => {
        state.drained = resolve;
      });
    },
  };
  return Object.assign(state, { gateway });
}

describe('sallyport up says what is live', () => {
  test('a screen: what is off, what is missing and what to do; the rest is counted', () => {
    const controls = [...Array(19).keys()].map((n) => ({
      name: `control-${n}`,
      live: n !== 7,
      detail: 'd'.repeat(60),
    }));
    const credentials = ['openai', 'google', 'github'].map((name) => ({ name, source: 'memory', set: false }));
    const text = describeStart(
      { colors: picocolors.createColors(false) },
      { ...summary, controls, credentials: [...summary.credentials, ...credentials] },
    );
    expect(text.split('\n').length).toBeLessThan(24);
    for (const part of [
      'proxy 127.0.0.1:8080',
      'Controls: 18 of 19 live (--verbose: each of them)\n  OFF   control-7',
      'missing     anthropic, openai, google, github\n              sallyport secret set anthropic < file',
      'problem  /run/x does not exist',
      'warning listen.dashboard',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('control-8');
  });

  test('--verbose: doors, controls that are live and that are not, credentials and what to do, warnings', () => {
    const text = describeStart({ colors: picocolors.createColors(false) }, summary, true);
    for (const part of [
      'proxy 127.0.0.1:8080',
      '/home/u/run/admin.sock',
      '/home/u/ca/ca.pem',
      'embedded default (12 rules for hosts)',
      'live  identify     2 sandboxes',
      'OFF   journal      the disk is full',
      'missing     anthropic    memory  sallyport secret set anthropic < file',
      'set         github       file',
      'when used   openai       memory\n',
      'unreadable  mistral      file\n              problem  /run/x does not exist\n',
      'warning listen.dashboard is not served by this version',
      'dashboard    http://127.0.0.1:8642/enter?token=t0k3n  (good for one visit; another: sallyport dashboard)',
    ]) {
      expect(text).toContain(part);
    }
  });
});

describe('sallyport up stays until a signal', () => {
  test('SIGTERM lets open requests finish, and only then it ends', async () => {
    const fake = fakeGateway();
    const signals = new FakeSignals();
    let ended = false;
    const serving = serveUntilSignal(fake.gateway, { say: () => undefined }, signals).then(() => {
      ended = true;
    });
    signals.emit('SIGTERM');
    await new Promise(setImmediate);
    expect([fake.calls, ended, signals.exits]).toEqual([['stop'], false, []]);
    fake.drained();
    await serving;
    await new Promise(setImmediate);
    expect(signals.listenerCount('SIGTERM') + signals.listenerCount('SIGHUP')).toBe(0);
  });

  test('a second signal ends at once', () => {
    const fake = fakeGateway();
    const signals = new FakeSignals();
    void serveUntilSignal(fake.gateway, { say: () => undefined }, signals);
    signals.emit('SIGINT');
    signals.emit('SIGTERM');
    expect([fake.calls, signals.exits]).toEqual([['stop'], [130]]);
  });

  test('SIGHUP reloads; a bad file is reported and the gateway stays up', async () => {
    const fake = fakeGateway();
    const signals = new FakeSignals();
    const said: string[] = [];
    void serveUntilSignal(fake.gateway, { say: (text) => said.push(text) }, signals);
    signals.emit('SIGHUP');
    await new Promise(setImmediate);
    fake.badConfig = true;
    signals.emit('SIGHUP');
    await new Promise(setImmediate);
    expect(fake.calls).toEqual(['reload', 'reload']);
    expect(said[0]).toContain('in force');
    expect(said[1]).toMatch(/old one stays in force:\nsallyport\.yaml:3:5/);
    expect(signals.exits).toEqual([]);
  });
});
