// Makes one measurement of one contender and returns plain figures, or { error } when the contender did not do the
// whole work correctly: a proxy that drops requests or does not inject must not look fast.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { keyArrived, pidOf } from './contenders.mjs';
import { measureAgents } from './measure-agent.mjs';
import { cloneRepository, pushRepository } from './measure-git.mjs';
import { downloadHttp2, measureHttp2 } from './measure-http2.mjs';
import { checkPushes } from './measure-push-check.mjs';
import { measureSandboxes } from './measure-sandboxes.mjs';
import { measureStages } from './measure-stages.mjs';
import { cpuSecondsOf, isRunning, ownCpuSeconds, waitForCalm, watchOthers } from './processes.mjs';
import { isSmoke, sizes, work } from './sizes.mjs';

const { names: namesPerRound, tunnels: heldTunnels, events, bodies: reps } = sizes;

/** Tests that mean something only for a process that has done nothing yet. */
export const freshTests = new Set(['hold', 'gib-down', 'gib-up']);

const api = { target: 'api.test:9443' };
const sink = { target: 'sink.test:9444' };

const loop = (conns, secs) => ({ ...api, conns, secs, warm: sizes.runUpSecs });

/** Test -> mode of mb and its arguments. */
const generatorTests = {
  // On a busy machine a time would not warm up anything: what is not compiled yet costs ten times as much.
  warm: () => ['small', { ...loop(32, sizes.warmSecs), least: sizes.warmRequests }],
  small1: ({ secs }) => ['small', loop(1, secs)],
  small16: ({ secs }) => ['small', loop(16, secs)],
  small64: ({ secs }) => ['small', loop(64, secs)],
  conn: ({ secs }) => ['conn', loop(8, secs)],
  resume: ({ secs }) => ['conn', { ...loop(8, secs), resume: 1 }],
  first: ({ round }) => ['first', { n: namesPerRound, from: round * namesPerRound }],
  down: () => ['down', { ...api, path: '/big.bin', bytes: sizes.bodyBytes, reps }],
  up: () => ['up', { ...sink, path: '/up', bytes: sizes.bodyBytes, reps }],
  'gib-down': () => ['down', { ...api, path: '/gib.bin', bytes: sizes.gibBytes, reps: 1 }],
  'gib-up': () => ['up', { ...sink, path: '/up', bytes: sizes.gibBytes, reps: 1 }],
  'down-chunked': () => ['down', { ...sink, path: `/chunked?bytes=${sizes.bodyBytes}`, bytes: sizes.bodyBytes, reps }],
  sse: () => ['sse', { ...sink, n: events, gap: 10 }],
  websocket: () => ['ws', { ...sink, n: events, gap: 10 }],
  hold: () => ['hold', { ...api, conns: heldTunnels }],
};
const otherTests = {
  h2: measureHttp2,
  'down-h2': downloadHttp2,
  agent: measureAgents,
  stages: (contender, pid, { secs }) => measureStages(() => generate(contender, pid, 'small', loop(16, secs))),
  sandboxes: (contender, pid, { secs }) =>
    measureSandboxes((sources) => generate(contender, pid, 'small', { ...loop(sources, secs), sources })),
  clone: cloneRepository,
  push: pushRepository,
  'push-check': checkPushes,
};

export const testNames = [...Object.keys(generatorTests), ...Object.keys(otherTests)];

/** `options`: secs, round (names of earlier rounds are no longer new), calmMs (how long to wait for a quiet machine). */
export async function measure(contender, test, options) {
  await waitForCalm(options.calmMs);
  const pid = pidOf(contender.name);
  const others = watchOthers(
    () =>
      ownCpuSeconds() +
      ['upstream', 'sink', 'fcgi', contender.name].reduce((sum, n) => sum + cpuSecondsOf(pidOf(n)), 0),
  );
  let result;
  if (generatorTests[test]) {
    result = generate(contender, pid, ...generatorTests[test](options));
  } else {
    result = await otherTests[test](contender, pid, options).catch((error) => ({ error: String(error) }));
  }
  let fault = result.error ?? faultOf(test, result);
  if (fault && pid && !isRunning(pid))
    fault = `${contender.name} ended: see ${path.join(work, `${contender.name}.log`)}`;
  return { ...result, ...(fault ? { error: fault } : {}), ...others() };
}

function generate(contender, pid, mode, settings) {
  const address = contender.proxy
    ? `proxy=${contender.proxy}`
    : `direct=${settings.target.startsWith('sink') ? contender.direct.sink : contender.direct.api}`;
  const argv = [mode, address, `ca=${path.join(work, 'all-ca.pem')}`, `pid=${pid}`];
  for (const [name, value] of Object.entries(settings)) argv.push(`${name}=${value}`);
  if (contender.injects && ['small', 'conn', 'down', 'up'].includes(mode)) argv.push(`expect=${keyArrived}`);
  const run = spawnSync(path.join(work, 'mb'), argv, { encoding: 'utf8', timeout: 120_000 });
  try {
    return JSON.parse(run.stdout);
  } catch {
    return { error: run.error?.code ?? (run.stdout || run.stderr || 'the load generator printed nothing') };
  }
}

function faultOf(test, result) {
  if (result.why) return result.why;
  if (result.bad > 0) return `${result.bad} requests failed`;
  // A smoke run may be too short for one; a real one that counts none has measured nothing.
  if (!isSmoke && result.n === 0) return 'no request was answered';
  // A handful of errors among many thousands is a scheduling accident; more is a contender that does not cope.
  if (test !== 'hold' && result.errors > result.n / 1000) return `${result.errors} errors: ${result.last_error}`;
  if (test === 'hold' && (result.opened < heldTunnels || result.dropped > heldTunnels / 100)) {
    return `${result.opened} of ${heldTunnels} tunnels opened, ${result.dropped} dropped`;
  }
  if (['sse', 'websocket'].includes(test) && result.events < events)
    return `${result.events} of ${events} events arrived`;
  return null;
}
