// A small plot of bars over time, drawn as SVG: an axis with round numbers, time below, and a read-out that follows the
// pointer or the arrow keys. It is a slider to a screen reader: every bar can be heard.
import { el, fill, say, svg } from './dom.js';
import { clockTime } from './text.js';

/** @typedef {import('../src/gateway/dashboard/shapes.ts').TrafficPoint} TrafficPoint */
/**
 * @typedef {object} Series
 * @property {string} name
 * @property {string} kind a class of the style sheet
 * @property {(point: TrafficPoint) => number} of
 */

const width = 360;
const height = 116;
const left = 44;
const bottom = 18;
const top = 6;

/**
 * @param {object} options
 * @param {string} options.title
 * @param {readonly Series[]} options.series stacked, the first at the bottom
 * @param {(value: number) => string} options.format
 * @param {(point: TrafficPoint) => string} options.read
 */
export function createPlot({ title, series, format, read }) {
  const readOut = el('p', { class: 'readout' });
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true', focusable: 'false' });
  const slider = el('div', {
    class: 'drawing',
    role: 'slider',
    tabindex: 0,
    'aria-label': `${title} over time`,
    'aria-valuemin': 1,
  });
  slider.append(drawing);
  const legend =
    series.length < 2
      ? null
      : el(
          'p',
          { class: 'legend' },
          ...series.flatMap(({ name, kind }) => [
            el('span', { class: `key ${kind}`, 'aria-hidden': 'true' }),
            `${name} `,
          ]),
        );
  const node = el('figure', { class: 'plot' }, el('figcaption', {}, el('h3', {}, title), legend), slider, readOut);
  /** @type {readonly TrafficPoint[]} */
  let points = [];
  /** @type {number | null} */
  let chosen = null;

  const tell = () => {
    const point = points[chosen ?? points.length - 1];
    if (point === undefined) return;
    const words = `${clockTime(point.atMs)}: ${read(point)}`;
    say(readOut, chosen === null ? `now: ${read(point)}` : words);
    slider.setAttribute('aria-valuemax', String(points.length));
    slider.setAttribute('aria-valuenow', String((chosen ?? points.length - 1) + 1));
    slider.setAttribute('aria-valuetext', words);
    for (const [at, bar] of [...drawing.querySelectorAll('.column')].entries())
      bar.classList.toggle('chosen', at === chosen);
  };

  /** @param {number | null} at */
  const choose = (at) => {
    chosen = at === null ? null : Math.max(0, Math.min(points.length - 1, at));
    tell();
  };

  slider.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    choose(Math.floor(((x - left) / (width - left)) * points.length));
  });
  slider.addEventListener('pointerleave', () => choose(null));
  slider.addEventListener('blur', () => choose(null));
  slider.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -points.length, End: points.length }[
      event.key
    ];
    if (step === undefined) return;
    event.preventDefault();
    choose((chosen ?? points.length - 1) + step);
  });

  return {
    node,
    /** @param {readonly TrafficPoint[]} next */
    update(next) {
      points = next;
      fill(drawing, draw(points, series, format));
      tell();
    },
  };
}

/**
 * @param {readonly TrafficPoint[]} points
 * @param {readonly Series[]} series
 * @param {(value: number) => string} format
 */
function draw(points, series, format) {
  const sums = points.map((point) => series.reduce((sum, { of }) => sum + of(point), 0));
  const most = roundUp(Math.max(...sums, 0));
  const plain = height - bottom - top;
  /** @param {number} value */
  const y = (value) => top + plain - (value / most) * plain;
  const parts = [];
  // Half a request is none: its line would be called like the one above it.
  const marks = new Map([most / 2, 0, most].map((value) => [format(value), value]));
  for (const [label, value] of marks) {
    parts.push(svg('line', { class: 'grid', x1: left, x2: width, y1: y(value), y2: y(value) }));
    parts.push(svg('text', { class: 'axis', x: left - 6, y: y(value) + 3, 'text-anchor': 'end' }, label));
  }
  const step = (width - left) / Math.max(1, points.length);
  for (const [at, point] of points.entries()) {
    const column = svg('g', { class: 'column' });
    column.append(svg('rect', { class: 'back', x: left + at * step, y: top, width: step, height: plain }));
    let below = 0;
    for (const { kind, of } of series) {
      const value = of(point);
      if (value <= 0) continue;
      const tall = Math.max(1, (value / most) * plain);
      below += value;
      column.append(
        svg('rect', {
          class: kind,
          x: left + at * step + step * 0.12,
          y: Math.min(y(below), top + plain - 1),
          width: step * 0.76,
          height: tall,
          rx: 0.8,
        }),
      );
    }
    parts.push(column);
  }
  const first = points[0];
  const last = points.at(-1);
  if (first !== undefined && last !== undefined) {
    const middle = (first.atMs + last.atMs) / 2;
    parts.push(svg('text', { class: 'axis', x: left, y: height - 4 }, clockTime(first.atMs).slice(0, 5)));
    parts.push(
      svg(
        'text',
        { class: 'axis', x: (left + width) / 2, y: height - 4, 'text-anchor': 'middle' },
        clockTime(middle).slice(0, 5),
      ),
    );
    parts.push(svg('text', { class: 'axis', x: width, y: height - 4, 'text-anchor': 'end' }, 'now'));
  }
  return parts;
}

/**
 * The next of 1, 2, 4, 10: its half is round, too.
 * @param {number} value
 */
function roundUp(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return /** @type {const} */ ([1, 2, 4, 6, 10]).map((factor) => factor * power).find((most) => most >= value) ?? value;
}
