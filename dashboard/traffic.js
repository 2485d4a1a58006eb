// Traffic and cost over time: three plots of the same sixty steps, of the last ten minutes or the last hour, and the same
// numbers as a table for whoever would rather read than look.
import { now } from './clock.js';
import { byId, el, fill } from './dom.js';
import { createPlot } from './plot.js';
import { bytes, clockTime, count, counted, dollars } from './text.js';

/** @typedef {import('../src/gateway/dashboard/shapes.ts').TrafficView} TrafficView */
/** @typedef {import('../src/gateway/dashboard/shapes.ts').TrafficPoint} TrafficPoint */

const steps = 60;
const ranges = [
  { words: '10 minutes', stepMs: 10_000 },
  { words: '1 hour', stepMs: 60_000 },
];

export function createTraffic() {
  const plots = [
    createPlot({
      title: 'Requests',
      series: [
        { name: 'not refused', kind: 'passed', of: ({ requests, refused }) => requests - refused },
        { name: 'refused', kind: 'refused', of: ({ refused }) => refused },
      ],
      format: count,
      read: ({ requests, refused }) => `${counted(requests, 'request')}, ${count(refused)} refused`,
    }),
    createPlot({
      title: 'Bytes',
      series: [
        { name: 'in', kind: 'in', of: ({ bytesIn }) => bytesIn },
        { name: 'out', kind: 'out', of: ({ bytesOut }) => bytesOut },
      ],
      format: (value) => bytes(Math.round(value)),
      read: ({ bytesIn, bytesOut }) => `${bytes(bytesIn)} in, ${bytes(bytesOut)} out`,
    }),
    createPlot({
      title: 'Model cost',
      series: [{ name: 'dollars', kind: 'dollars', of: (point) => point.dollars }],
      format: (value) => (value === 0 ? '$0' : dollars(value)),
      read: (point) => `${dollars(point.dollars)}, ${counted(point.tokens, 'token')}`,
    }),
  ];
  byId('plots', HTMLDivElement).append(...plots.map(({ node }) => node));
  const table = byId('traffic-table', HTMLDetailsElement);
  /** @type {TrafficView} */
  let view = { stepSeconds: 10, points: [] };
  let stepMs = 10_000;

  const draw = () => {
    const points = gathered(view.points, stepMs);
    for (const plot of plots) plot.update(points);
    const place = table.querySelector('.scroll');
    if (place !== null) fill(place, table.open ? [tableOf(points)] : []);
  };
  table.addEventListener('toggle', draw);

  const buttons = ranges.map((range) => {
    const button = el('button', { type: 'button', 'aria-pressed': String(range.stepMs === stepMs) }, range.words);
    button.addEventListener('click', () => {
      stepMs = range.stepMs;
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button));
      draw();
    });
    return button;
  });
  byId('ranges', HTMLFieldSetElement).append(...buttons);
  draw();

  return {
    /** @param {TrafficView} next */
    update(next) {
      view = next;
      draw();
    },
  };
}

/**
 * Sixty steps up to now: those in which nothing happened are there, too.
 * @param {readonly TrafficPoint[]} points
 * @param {number} stepMs
 */
function gathered(points, stepMs) {
  const last = Math.floor(now() / stepMs) * stepMs;
  const first = last - (steps - 1) * stepMs;
  const sums = Array.from({ length: steps }, (_, at) => ({
    atMs: first + at * stepMs,
    requests: 0,
    refused: 0,
    bytesIn: 0,
    bytesOut: 0,
    tokens: 0,
    dollars: 0,
  }));
  for (const point of points) {
    const sum = sums[Math.min(steps - 1, Math.floor((point.atMs - first) / stepMs))];
    if (sum === undefined) continue;
    sum.requests += point.requests;
    sum.refused += point.refused;
    sum.bytesIn += point.bytesIn;
    sum.bytesOut += point.bytesOut;
    sum.tokens += point.tokens;
    sum.dollars += point.dollars;
  }
  return sums;
}

/** @param {readonly TrafficPoint[]} points */
function tableOf(points) {
  const titles = ['From', 'Requests', 'Refused', 'Bytes in', 'Bytes out', 'Tokens', 'Dollars'];
  const busy = points.filter(({ requests }) => requests > 0).reverse();
  if (busy.length === 0) return el('p', { class: 'empty' }, 'Nothing happened in this time.');
  return el(
    'table',
    {},
    el(
      'caption',
      { class: 'unseen' },
      'Traffic and cost, the newest first; steps in which nothing happened are left out',
    ),
    el('thead', {}, el('tr', {}, ...titles.map((title) => el('th', { scope: 'col' }, title)))),
    el(
      'tbody',
      {},
      ...busy.map((point) =>
        el(
          'tr',
          {},
          el('th', { scope: 'row' }, clockTime(point.atMs)),
          ...[
            count(point.requests),
            count(point.refused),
            bytes(point.bytesIn),
            bytes(point.bytesOut),
            count(point.tokens),
            dollars(point.dollars),
          ].map((cell) => el('td', {}, cell)),
        ),
      ),
    ),
  );
}
