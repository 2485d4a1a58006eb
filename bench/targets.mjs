// The targets Sallyport sets itself, in this one place, and how they are judged from one report: goal, now, before. A peer that
// was not measured gives SKIP, never PASS. What start.mjs, workers.mjs and sizing.mjs measure is judged here too.
import { lastRecorded } from './history.mjs';
import { pushShapes } from './measure-push-check.mjs';

const clonedMb = (200 * 1024 ** 2) / 1e6;
const mib = (kib) => kib / 1024;
const cpu = (r) => r.cpu_s_per_10k;
const cpuPerGb = (r) => r.cpu_s_per_gb;
const rate = (r) => r.mb_s;
const growthMib = (r) => mib(r.rss_peak_kib - r.rss_before_kib);

/** `peer`: the bound is a multiple of that contender's figure; `own`: of Sallyport's figure in that test; else it is absolute. */
const targets = [
  { title: 'CPU per small request', test: 'small64', figure: cpu, peer: 'floor', atMost: 1.35 },
  { title: 'CPU per small request', test: 'small64', figure: cpu, peer: 'nginx', atMost: 2.8 },
  { title: 'CPU per small request', test: 'small64', figure: cpu, peer: 'squid', atMost: 0.8 },
  { title: 'CPU per small request', test: 'small64', figure: cpu, peer: 'goproxy', atMost: 0.35 },
  { title: 'CPU per small request over HTTP/2', test: 'h2', figure: cpu, own: 'small64', atMost: 1.3 },
  { title: 'CPU per small request of 1,000 sandboxes', test: 'sandboxes', figure: cpu, own: 'small64', atMost: 1.3 },
  { title: 'CPU per new connection', test: 'conn', figure: cpu, peer: 'goproxy', atMost: 0.4 },
  { title: 'CPU per resumed connection', test: 'resume', figure: cpu, peer: 'goproxy', atMost: 0.6 },
  { title: 'first-seen name', test: 'first', figure: (r) => r.first_p50_ms, peer: 'squid', atMost: 1 },
  { title: 'download rate', test: 'down', figure: rate, peer: 'nginx', atLeast: 0.75 },
  { title: 'download rate', test: 'down', figure: rate, peer: 'goproxy', atLeast: 1 },
  { title: 'download CPU', test: 'down', figure: cpuPerGb, peer: 'floor', atMost: 1.4 },
  { title: 'upload rate', test: 'up', figure: rate, peer: 'goproxy', atLeast: 0.9 },
  { title: 'upload CPU', test: 'up', figure: cpuPerGb, peer: 'floor', atMost: 1.4 },
  { title: 'download CPU, chunked', test: 'down-chunked', figure: cpuPerGb, own: 'down', atMost: 1.2 },
  { title: 'download CPU, HTTP/2', test: 'down-h2', figure: cpuPerGb, own: 'down', atMost: 1.2 },
  { title: 'memory growth in a 1 GiB download', test: 'gib-down', figure: growthMib, unit: 'MiB', under: 48 },
  { title: 'memory growth in a 1 GiB upload', test: 'gib-up', figure: growthMib, unit: 'MiB', under: 48 },
  { title: 'delay of an event at the median', test: 'sse', figure: addedMs('sse'), unit: 'ms', atMost: 0.25 },
  { title: 'merged in a stream, worst round', test: 'sse', figure: mostMerged('sse'), unit: 'events', atMost: 0 },
  {
    title: 'delay of a message at the median',
    test: 'websocket',
    figure: addedMs('websocket'),
    unit: 'ms',
    atMost: 0.25,
  },
  {
    title: 'merged in a WebSocket, worst round',
    test: 'websocket',
    figure: mostMerged('websocket'),
    unit: 'messages',
    atMost: 0,
  },
  { title: 'idle memory', test: 'hold', figure: (r) => mib(r.rss_before_kib), unit: 'MiB', atMost: 85 },
  { title: 'memory per open tunnel', test: 'hold', figure: (r) => r.kib_per_tunnel, unit: 'KiB', atMost: 60 },
  { title: 'git clone rate', test: 'clone', figure: (r) => clonedMb / r.secs, peer: 'squid', atLeast: 0.8 },
  { title: 'git push of 200 MiB', test: 'push', figure: (r) => r.secs, peer: 'direct', atMost: 1.6 },
  ...pushShapes.flatMap(smallPush),
];

/** What judging adds to a small push, and that it is not more for a larger repository. */
function smallPush(shape) {
  const figure = (history, name) => (r) => r[`${shape}_${history}_${name}`];
  const added = (history) => figure(history, 'added_ms');
  const growth = (r) => added('100000')(r) - added('1000')(r);
  const title = `small push (${shape})`;
  const common = { test: 'push-check', unit: 'ms' };
  return [
    { ...common, title: `${title}, added at 100,000 commits`, figure: added('100000'), atMost: 40 },
    { ...common, title: `${title}, added without a reverse index`, figure: added('100000-plain'), under: 100 },
    { ...common, title: `${title}, questions`, unit: 'of them', figure: figure('100000', 'questions'), atMost: 1 },
    // The noise of a quiet machine: a check that read the history would take a hundred times as long as with 1,000.
    { ...common, title: `${title}, more than with 1,000 commits`, figure: growth, under: 15 },
  ];
}

/** Measured by other commands of bench/, which print the verdict themselves. */
const commandTargets = {
  'run -- true adds, by itself': { unit: 's', atMost: 0.25 },
  'run -- true adds, with a gateway that runs': { unit: 's', atMost: 0.12 },
  'the whole of run -- true adds, by itself': { unit: 's', atMost: 0.25 },
  'the whole of run -- true adds, with a gateway that runs': { unit: 's', atMost: 0.12 },
  'CPU per request with two workers, to one process': { unit: 'times', atMost: 1.15 },
  'memory of a registered sandbox': { unit: 'KiB', atMost: 5 },
  'registrations a second beside 10,000, to alone': { unit: 'times', atLeast: 0.7 },
  'registrations a second with two workers beside 10,000, to alone': { unit: 'times', atLeast: 0.7 },
};

export function judgeFigure(title, value) {
  const target = commandTargets[title];
  return `${keeps(target, value)} ${title}: ${round(value)} ${target.unit}, goal ${boundOf(target)} ${target.unit}`;
}

function addedMs(test) {
  return (result, report) => {
    const direct = report.median[test].direct;
    return direct && !direct.error ? result.event_p50_ms - direct.event_p50_ms : null;
  };
}

/** The worst round, not the median: one merged event is one too many. */
function mostMerged(test) {
  return (_result, report) => Math.max(...report.raw[test].sallyport.filter((r) => !r.error).map((r) => r.coalesced));
}

/** `now` is null where it was not measured; `key` is the name it has in the history. */
export function judgeTargets(report) {
  const before = lastRecorded(report);
  return targets.map((target) => {
    const { title, unit, peer, own } = target;
    const against = peer ?? (own && `its own ${own}`);
    const key = against === undefined ? title : `${title}, to ${against}`;
    const found = figureOf(target, report);
    const verdict = found.now === undefined ? (found.failed ? 'MISS' : 'SKIP') : keeps(target, found.now);
    return { key, unit: unit ?? 'times', goal: boundOf(target), before: before?.[key], verdict, ...found };
  });
}

function figureOf(target, report) {
  const results = report.median[target.test] ?? {};
  const ours = results.sallyport;
  if (!ours) return { why: 'not measured' };
  if (ours.error) return { failed: true, why: `failed: ${ours.error}` };
  const value = target.figure(ours, report);
  if (value === null) return { why: 'the direct connection was not measured' };
  const against = target.own ? report.median[target.own]?.sallyport : target.peer ? results[target.peer] : undefined;
  if (!target.own && !target.peer) return { now: value, why: '' };
  if (!against || against.error) return { why: `${target.peer ?? target.own} was not measured` };
  const base = target.figure(against, report);
  // A smoke run is too short for the clock that counts CPU.
  return base > 0 ? { now: value / base, why: `${round(value)} to ${round(base)}` } : { why: 'too short to count' };
}

function keeps({ atLeast, atMost, under }, value) {
  const kept = atLeast !== undefined ? value >= atLeast : atMost !== undefined ? value <= atMost : value < under;
  return kept ? 'PASS' : 'MISS';
}

function boundOf({ atLeast, atMost, under }) {
  if (atLeast !== undefined) return `at least ${atLeast}`;
  return atMost !== undefined ? `at most ${atMost}` : `under ${under}`;
}

export const round = (value) => Number(value.toPrecision(3));
