// One request opened up: its way through the stages with the time each took, what was decided by which line of the policy,
// and everything the journal says of it. Reached by `#request/ID`, so that it can be linked to.
import { openDialog } from './dialogs.js';
import { advice, el, factList, fileLines, fill } from './dom.js';
import { ask } from './gateway.js';
import { bytes, count, cut, dollars, fullTime, origin, took } from './text.js';

/** @typedef {import('../src/gateway/dashboard/shapes.ts').RequestDetail} RequestDetail */

/** @type {HTMLDialogElement | null} */
let open = null;

export function startRequests() {
  addEventListener('hashchange', follow);
  follow();
}

function follow() {
  const match = /^#request\/(.+)$/.exec(location.hash);
  open?.close();
  if (match?.[1] === undefined) return;
  const id = decoded(match[1]);
  const from = document.querySelector(`#rows a[href="${CSS.escape(location.hash)}"]`);
  const body = el('div', { class: 'opened' }, el('p', { class: 'soft' }, 'Asking for it…'));
  const dialog = openDialog('drawer', 'Request', [body]);
  open = dialog;
  dialog.addEventListener('close', () => {
    if (open !== dialog) return;
    open = null;
    if (location.hash.startsWith('#request/')) history.replaceState(null, '', location.pathname);
    if (from instanceof HTMLElement && from.isConnected) from.focus();
  });
  ask(`/api/requests/${encodeURIComponent(id)}`).then(
    (detail) => fill(body, describe(/** @type {RequestDetail} */ (detail))),
    (error) => fill(body, [el('p', { class: 'problem', role: 'alert' }, error.message)]),
  );
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A refusal is the gateway's own no; a failure is something that did not work. */
const chipOf = new Map([
  ['allowed', 'good'],
  ['refused', 'bad'],
  ['failed', 'wait'],
]);

/** @param {RequestDetail} detail */
function describe({ record, place }) {
  /** @param {string} name */
  const text = (name) => {
    const value = record[name];
    if (value === null || value === undefined || value === '') return null;
    return Array.isArray(value) ? value.join(', ') : String(value);
  };
  /** @param {string} name */
  const number = (name) => Number(record[name] ?? 0);
  const verdict = text('verdict') ?? '';
  const target = {
    scheme: text('scheme') ?? '',
    host: text('host') ?? '',
    port: number('port'),
    kind: text('kind') ?? '',
  };
  const tokens = number('tokens_in') + number('tokens_out');
  return [
    el(
      'p',
      { class: 'headline' },
      el('span', { class: `chip ${chipOf.get(verdict) ?? ''}` }, `${verdict} ${text('status') ?? ''}`),
      ' ',
      el(
        'span',
        { class: 'raw' },
        el('span', { class: 'method' }, text('method')),
        ' ',
        el('strong', {}, origin(target)),
        text('path'),
      ),
    ),
    ...trailOf(record.trail),
    el('h3', {}, 'Decision'),
    factList([
      ['Code', code(text('code'))],
      ['Rule', code(text('rule'))],
      ['Why', text('reason')],
      ['What to do', adviceOf(text('hint'))],
    ]),
    place === null
      ? ''
      : el(
          'figure',
          { class: 'place' },
          el('figcaption', { class: 'soft' }, `${place.file}:${place.line}`),
          fileLines(place.text, place.line),
        ),
    el('h3', {}, 'Facts'),
    factList([
      ['Sandbox', text('sandbox') ?? 'not identified'],
      ['Proven by', text('proof')],
      ['Came by', [text('door'), text('from')].filter(Boolean).join(' from ')],
      ['When', fullTime(Date.parse(text('time') ?? ''))],
      ['Took', took(number('ms'))],
      ['Protocol', [text('kind'), text('protocol')].filter(Boolean).join(', ')],
      ['Git', text('git')],
      ['Query names', text('query')],
      ['Destination', text('destination')],
      ['Credential', code(text('credential')) ?? 'none'],
      ['Upstream', text('upstream')],
      ['Bytes', `${bytes(number('bytes_in'))} in, ${bytes(number('bytes_out'))} out`],
      ['Model', text('model')],
      [
        'Tokens',
        tokens === 0
          ? null
          : `${count(number('tokens_in'))} in, ${count(number('tokens_out'))} out${record.tokens_estimated === true ? ' (some estimated)' : ''}`,
      ],
      ['Cost', number('cost_usd') === 0 ? null : dollars(number('cost_usd'))],
      ['Incident', text('incident') === null ? null : el('strong', { class: 'bad' }, text('incident'))],
      ['Scrubbed', number('scrubbed') === 0 ? null : `${count(number('scrubbed'))} times in the answer`],
      ['Request', code(text('id'))],
    ]),
    el(
      'details',
      {},
      el('summary', {}, 'The record as it stands in the journal'),
      fileLines(JSON.stringify(record, null, 2), 1),
    ),
  ];
}

/** @param {string | null} text */
function adviceOf(text) {
  return text === null ? null : advice(text);
}

/** @param {string | null} text */
function code(text) {
  return text === null ? null : el('code', { class: 'raw' }, text);
}

/** What each step is for, in a few words. */
const meaningOf = new Map([
  ['accept', 'one reading of what was sent'],
  ['identify', 'which sandbox is this'],
  ['authorize', 'may it do this'],
  ['ask', 'a person was asked'],
  ['question', 'asked upstream, to decide'],
  ['inject', 'the credential goes in'],
  ['forward', 'there and back'],
  ['renew', 'a fresh credential'],
]);

/**
 * @param {unknown} trail
 * @returns {readonly (Node | string)[]}
 */
function trailOf(trail) {
  if (!Array.isArray(trail) || trail.length === 0) return [];
  const steps = trail.map((step) => ({ stage: String(step[0]), us: Number(step[1]), outcome: String(step[2]) }));
  const total = steps.reduce((sum, { us }) => sum + us, 0) || 1;
  const bar = el('div', { class: 'bar', 'aria-hidden': 'true' });
  const list = el('ol', { class: 'trail', 'aria-label': 'The way through the gateway' });
  steps.forEach(({ stage, us, outcome }, at) => {
    // What a person said yes to is told in their words: `approve once by …`.
    const isGood = outcome === 'ok' || (stage === 'ask' && outcome.startsWith('approve '));
    const part = el('span', { class: `part p${at % 6} ${isGood ? '' : 'not'}`, title: `${stage}: ${took(us / 1000)}` });
    part.style.setProperty('flex-grow', String(Math.max(us / total, 0.004)));
    bar.append(part);
    list.append(
      el(
        'li',
        { class: isGood ? '' : 'not' },
        el('span', { class: `key p${at % 6}`, 'aria-hidden': 'true' }),
        el('strong', {}, stage),
        el('span', { class: 'raw' }, cut(outcome, 200), el('span', { class: 'soft told' }, meaningOf.get(stage) ?? '')),
        el('span', { class: 'soft' }, took(us / 1000)),
      ),
    );
  });
  return [el('h3', {}, 'Trail'), bar, list];
}
