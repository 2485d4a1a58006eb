// Turns results/latest.json into Markdown: every measure beside every contender with the ratio, then the targets.
// `node bench/report.mjs [FILE]` prints it again without measuring.
import fs from 'node:fs';
import { histories, pushShapes } from './measure-push-check.mjs';
import { stageNames } from './measure-stages.mjs';
import { resultFile } from './sizes.mjs';
import { judgeTargets, round } from './targets.mjs';

const mib = (kib) => kib / 1024;

/** [title, test, figure, digits]; a figure may be computed from the result and that of the direct connection. */
const measures = [
  ['CPU s / 10,000 small requests, 64 tunnels', 'small64', (r) => r.cpu_s_per_10k, 3],
  ['requests/s, 64 tunnels', 'small64', (r) => r.rps, 0],
  ['p50 ms, 64 tunnels', 'small64', (r) => r.p50_ms, 2],
  ['p99 ms, 64 tunnels', 'small64', (r) => r.p99_ms, 2],
  ['CPU s / 10,000 small requests, 16 tunnels', 'small16', (r) => r.cpu_s_per_10k, 3],
  ['requests/s, 16 tunnels', 'small16', (r) => r.rps, 0],
  ['requests/s, 1 tunnel', 'small1', (r) => r.rps, 0],
  ['p50 ms, 1 tunnel', 'small1', (r) => r.p50_ms, 3],
  ['CPU ms / new connection', 'conn', (r) => r.cpu_s_per_10k / 10, 2],
  ['new connections/s', 'conn', (r) => r.rps, 0],
  ['CPU ms / connection, ticket offered', 'resume', (r) => r.cpu_s_per_10k / 10, 2],
  ['share resumed', 'resume', (r) => r.resumed / Math.max(1, r.handshakes), 2],
  ['first-seen name, p50 ms', 'first', (r) => r.first_p50_ms, 2],
  ['the same name again, p50 ms', 'first', (r) => r.again_p50_ms, 2],
  ['download MB/s', 'down', (r) => r.mb_s, 0],
  ['download CPU s/GB', 'down', (r) => r.cpu_s_per_gb, 2],
  ['upload MB/s', 'up', (r) => r.mb_s, 0],
  ['upload CPU s/GB', 'up', (r) => r.cpu_s_per_gb, 2],
  ['memory growth in a 1 GiB download, MiB', 'gib-down', (r) => mib(r.rss_peak_kib - r.rss_before_kib), 0],
  ['memory growth in a 1 GiB upload, MiB', 'gib-up', (r) => mib(r.rss_peak_kib - r.rss_before_kib), 0],
  ['event p50 ms', 'sse', (r) => r.event_p50_ms, 3],
  ['event p50 ms added to direct', 'sse', (r, direct) => (direct ? r.event_p50_ms - direct.event_p50_ms : null), 3],
  ['events merged', 'sse', (r) => r.coalesced, 0],
  ['idle RSS MiB', 'hold', (r) => mib(r.rss_before_kib), 0],
  ['KiB per open tunnel, 1,000 open', 'hold', (r) => r.kib_per_tunnel, 0],
  ['HTTP/2: CPU s / 10,000 small requests', 'h2', (r) => r.cpu_s_per_10k, 3],
  ['HTTP/2: download CPU s/GB', 'down-h2', (r) => r.cpu_s_per_gb, 2],
  ['chunked: download CPU s/GB', 'down-chunked', (r) => r.cpu_s_per_gb, 2],
  ['WebSocket message p50 ms', 'websocket', (r) => r.event_p50_ms, 3],
  ['WebSocket messages merged', 'websocket', (r) => r.coalesced, 0],
  ['agent: CPU ms / turn', 'agent', (r) => r.cpu_ms_per_turn, 2],
  ['agent: p50 ms of a turn', 'agent', (r) => r.turn_p50_ms, 0],
  ['1,000 sandboxes: CPU s / 10,000 small requests', 'sandboxes', (r) => r.cpu_s_per_10k, 3],
  ['1,000 sandboxes: KiB each, with one open tunnel', 'sandboxes', (r) => r.kib_per_sandbox, 1],
  ...stageNames.map((stage) => [`stage ${stage}: median microseconds`, 'stages', (r) => r[stage], 1]),
  ['git clone of 200 MiB, s', 'clone', (r) => r.secs, 2],
  ['git clone, peak RSS MiB', 'clone', (r) => mib(r.rss_peak_kib), 0],
  ['git push of 200 MiB, s', 'push', (r) => r.secs, 2],
  ['git push, peak RSS MiB', 'push', (r) => mib(r.rss_peak_kib), 0],
  ...pushShapes.flatMap(smallPush),
];

function smallPush(shape) {
  const figure = (history, name) => (r) => r[`${shape}_${history}_${name}`];
  return [
    [`small push (${shape}), ms`, 'push-check', figure('100000', 'ms'), 0],
    [`small push (${shape}), questions to the upstream`, 'push-check', figure('100000', 'questions'), 0],
    [`small push (${shape}), ms the upstream took for them`, 'push-check', figure('100000', 'questions_ms'), 0],
    [`small push (${shape}), ms to judge it, by the journal`, 'push-check', figure('100000', 'judged_ms'), 1],
    ...histories.map((history) => [
      `small push (${shape}), ms added, ${history} commits`,
      'push-check',
      figure(history, 'added_ms'),
      1,
    ]),
  ];
}

/** mitmproxy is one column: bulk and events are measured in its streaming mode, the rest as it comes. */
const columns = [
  ['sallyport', ['sallyport']],
  ['floor', ['floor']],
  ['squid', ['squid']],
  ['goproxy', ['goproxy']],
  ['mitmproxy', ['mitmproxy', 'mitmproxy-stream']],
  ['nginx', ['nginx']],
  ['direct', ['direct']],
];

export function renderReport(report) {
  const { machine } = report;
  const rows = measures.filter(([, test]) => report.median[test]).map((measure) => rowOf(report, measure));
  const judged = judgeTargets(report);
  return [
    `## Sallyport beside other proxies, ${report.when.slice(0, 10)}`,
    '',
    `${machine.cores} cores (${machine.cpu}), Linux ${machine.kernel}, Node ${machine.node}, ${machine.openssl};`,
    ...Object.values(report.versions)
      .filter(Boolean)
      .map((version) => `${version};`),
    ...(report.missing?.length ? [`not installed here, so not measured: ${report.missing.join(', ')};`] : []),
    ...(machine.network ? [`in a network that is ${machine.network};`] : []),
    `medians of ${report.rounds} interleaved round(s). In brackets: sallyport's figure divided by this one.`,
    '',
    `| | ${columns.map(([title]) => title).join(' | ')} |`,
    `|---|${'---|'.repeat(columns.length)}`,
    ...rows,
    '',
    '### Targets',
    '',
    '| | goal | now | before | |',
    '|---|---|---|---|---|',
    ...judged.map(targetRow),
    ...noiseNote(report),
  ].join('\n');
}

function targetRow({ verdict, key, goal, now, before, unit, why }) {
  const told = (value) => (value === undefined ? '–' : `${round(value)} ${unit}`);
  return `| ${key} | ${goal} ${unit} | ${told(now)}${why && ` (${why})`} | ${told(before)} | ${verdict} |`;
}

function rowOf(report, [title, test, figure, digits]) {
  const direct = report.median[test].direct;
  const figureOf = (names) => {
    const result = names.map((name) => report.median[test][name]).find(Boolean);
    if (!result) return null;
    return result.error ? 'fails' : figure(result, direct);
  };
  const ours = figureOf(['sallyport']);
  const cells = columns.map(([column, names]) => {
    const value = figureOf(names);
    if (value === null || value === undefined || Number.isNaN(value)) return '–';
    if (value === 'fails') return value;
    // A ratio to nothing (events merged, CPU of no proxy) says nothing.
    const comparable = column !== 'sallyport' && typeof ours === 'number' && value > 0 && ours > 0;
    const text = value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(digits);
    if (column === 'direct' && value === 0) return '–';
    return comparable ? `${text} (${(ours / value).toFixed(2)}×)` : text;
  });
  return `| ${title} | ${cells.join(' | ')} |`;
}

function noiseNote(report) {
  const noisy = Object.entries(report.raw).flatMap(([test, byName]) =>
    Object.entries(byName)
      .filter(
        ([, results]) =>
          !['clone', 'push', 'push-check'].includes(test) && results.some((r) => r.other_cpu_share > 0.12),
      )
      .map(([name]) => `${test}/${name}`),
  );
  if (!noisy.length) return [];
  return [
    '',
    `Other processes took more than 12 % of the machine during: ${noisy.join(', ')}. Repeat on a quiet machine.`,
  ];
}

if (process.argv[1] === import.meta.filename) {
  const file = process.argv[2] ?? resultFile;
  console.log(renderReport(JSON.parse(fs.readFileSync(file, 'utf8'))));
}
