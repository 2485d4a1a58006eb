// The targets Sallyport sets itself, judged from one report. A peer that was not measured gives SKIP, never PASS.
import { pushShapes } from './measure-push-check.mjs';

const clonedMb = (200 * 1024 ** 2) / 1e6;
const mib = (kib) => kib / 1024;
const cpuMs = (r) => r.cpu_s_per_10k / 10;
const growthMib = (r) => mib(r.rss_peak_kib - r.rss_before_kib);

/** `peer`: the bound is a multiple of that contender's figure; otherwise it is absolute. */
const targets = [
  { title: 'CPU per small request', test: 'small64', figure: (r) => r.cpu_s_per_10k, peer: 'squid', atMost: 0.8 },
  { title: 'CPU per small request', test: 'small64', figure: (r) => r.cpu_s_per_10k, peer: 'goproxy', atMost: 0.35 },
  {
    title: 'CPU per small request',
    test: 'small64',
    figure: (r) => r.cpu_s_per_10k,
    peer: 'mitmproxy',
    atMost: 1 / 20,
  },
  { title: 'CPU per small request', test: 'small64', figure: (r) => r.cpu_s_per_10k, peer: 'nginx', atMost: 2.6 },
  { title: 'CPU per new connection', test: 'conn', figure: cpuMs, unit: 'ms', atMost: 1.3 },
  { title: 'CPU per new connection', test: 'conn', figure: cpuMs, peer: 'goproxy', under: 0.5 },
  { title: 'first-seen name', test: 'first', figure: (r) => r.first_p50_ms, peer: 'squid', atMost: 1 },
  { title: 'download rate', test: 'down', figure: (r) => r.mb_s, peer: 'squid', atLeast: 1 },
  { title: 'upload rate', test: 'up', figure: (r) => r.mb_s, peer: 'squid', atLeast: 0.75 },
  { title: 'memory growth in a 1 GiB download', test: 'gib-down', figure: growthMib, unit: 'MiB', under: 48 },
  { title: 'memory growth in a 1 GiB upload', test: 'gib-up', figure: growthMib, unit: 'MiB', under: 48 },
  { title: 'delay of an event at the median', test: 'sse', figure: addedMs, unit: 'ms', under: 0.3 },
  { title: 'merged in a stream, worst round', test: 'sse', figure: mostMerged, unit: 'events', atMost: 0 },
  { title: 'idle memory', test: 'hold', figure: (r) => mib(r.rss_before_kib), unit: 'MiB', under: 90 },
  { title: 'memory per open tunnel', test: 'hold', figure: (r) => r.kib_per_tunnel, unit: 'KiB', under: 80 },
  { title: 'git clone rate', test: 'clone', figure: (r) => clonedMb / r.secs, peer: 'squid', atLeast: 0.8 },
  ...pushShapes.flatMap(smallPush),
];

/** What judging adds to a small push, and that it is not more for a larger repository. */
function smallPush(shape) {
  const added = (history) => (r) => r[`${shape}_${history}_added_ms`];
  const growth = (r) => added('100000')(r) - added('1000')(r);
  const common = { test: 'push-check', unit: 'ms' };
  return [
    { ...common, title: `added to a small push (${shape}), 100,000 commits`, figure: added('100000'), under: 100 },
    {
      ...common,
      title: `added to a small push (${shape}), no reverse index`,
      figure: added('100000-plain'),
      under: 100,
    },
    // The noise of a quiet machine: a check that read the history would take a hundred times as long as with 1,000.
    { ...common, title: `more than is added with 1,000 commits (${shape})`, figure: growth, under: 15 },
  ];
}

function addedMs(result, report) {
  const direct = report.median.sse.direct;
  return direct && !direct.error ? result.event_p50_ms - direct.event_p50_ms : null;
}

/** The worst round, not the median: one merged event is one too many. */
function mostMerged(_result, report) {
  return Math.max(...report.raw.sse.sallyport.filter((r) => !r.error).map((r) => r.coalesced));
}

export function judgeTargets(report) {
  return targets.map((target) => ({ title: target.title, ...judge(target, report) }));
}

function judge(target, report) {
  const results = report.median[target.test] ?? {};
  const ours = results.sallyport;
  if (!ours) return { verdict: 'SKIP', detail: `sallyport was not measured (${target.test})` };
  if (ours.error) return { verdict: 'MISS', detail: `failed: ${ours.error}` };
  const value = target.figure(ours, report);
  if (value === null) return { verdict: 'SKIP', detail: 'the direct connection was not measured' };
  if (!target.peer)
    return {
      verdict: keeps(target, value),
      detail: `${round(value)} ${target.unit}, ${boundOf(target)} ${target.unit}`,
    };

  const peer = results[target.peer];
  if (!peer || peer.error) return { verdict: 'SKIP', detail: `${target.peer} was not measured` };
  const base = target.figure(peer, report);
  const ratio = value / base;
  const detail = `${round(ratio)} times ${target.peer}'s (${round(value)} to ${round(base)}), ${boundOf(target)} times`;
  return { verdict: keeps(target, ratio), detail };
}

function keeps({ atLeast, atMost, under }, value) {
  const kept = atLeast !== undefined ? value >= atLeast : atMost !== undefined ? value <= atMost : value < under;
  return kept ? 'PASS' : 'MISS';
}

function boundOf({ atLeast, atMost, under }) {
  if (atLeast !== undefined) return `at least ${atLeast}`;
  return atMost !== undefined ? `at most ${atMost}` : `under ${under}`;
}

const round = (value) => Number(value.toPrecision(3));
