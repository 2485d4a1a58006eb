// The live feed: requests as they happen, the newest first, in a bounded number of rows. A row is made once and never
// rebuilt, so that whoever reads or has the focus is not disturbed. What is left out by sampling is said.
import { byId, el, say } from './dom.js';
import { clockTime, count, cut, fullTime, origin, took } from './text.js';

/** @typedef {import('../src/gateway/dashboard/shapes.ts').RequestLine} RequestLine */
/** @typedef {import('../src/gateway/dashboard/shapes.ts').FeedBatch} FeedBatch */

const maxRows = 300;
/** More than there are rows: a filter set later finds what came before. */
const maxKept = 1000;

export function createFeed() {
  const rows = byId('rows', HTMLTableSectionElement);
  const sandbox = byId('filter-sandbox', HTMLSelectElement);
  const host = byId('filter-host', HTMLInputElement);
  const refused = byId('filter-refused', HTMLInputElement);
  const code = byId('filter-code', HTMLButtonElement);
  const pause = byId('pause', HTMLButtonElement);
  /** @type {RequestLine[]} the newest first */
  let kept = [];
  /** @type {Set<string>} */
  let ids = new Set();
  let codeWanted = '';
  let isPaused = false;
  let missed = 0;

  /** @param {RequestLine} line */
  const passes = (line) =>
    (sandbox.value === '' || line.sandbox === sandbox.value) &&
    (host.value === '' || line.host.toLowerCase().includes(host.value.trim().toLowerCase())) &&
    (!refused.checked || line.verdict === 'refused') &&
    (codeWanted === '' || line.code === codeWanted);

  const draw = () => {
    rows.replaceChildren(...kept.filter(passes).slice(0, maxRows).map(createRow));
    missed = 0;
    settle();
  };

  const settle = () => {
    while (rows.rows.length > maxRows) rows.lastElementChild?.remove();
    // One row at a time is in the tab order; j and k go on from there.
    if (rows.querySelector('a[tabindex="0"]') === null) rows.querySelector('a')?.setAttribute('tabindex', '0');
    const isFiltered = sandbox.value !== '' || host.value !== '' || refused.checked || codeWanted !== '';
    const empty = byId('feed-empty', HTMLParagraphElement);
    empty.hidden = rows.rows.length > 0;
    say(
      empty,
      isFiltered && kept.length > 0
        ? 'None of the latest requests passes the filter.'
        : 'No request yet. Whatever a sandbox sends appears here as it happens.',
    );
    say(pause, isPaused ? (missed === 0 ? 'Go on' : `Go on (${count(missed)} new)`) : 'Pause');
    pause.setAttribute('aria-pressed', String(isPaused));
  };

  const togglePause = () => {
    isPaused = !isPaused;
    if (isPaused) settle();
    else draw();
  };

  /** @param {string} wanted */
  const wantCode = (wanted) => {
    codeWanted = wanted;
    code.hidden = wanted === '';
    say(code, `${wanted} ✕`);
    code.setAttribute('aria-label', `Only ${wanted}. Remove this filter`);
    draw();
  };

  for (const control of [sandbox, refused]) control.addEventListener('change', draw);
  host.addEventListener('input', draw);
  code.addEventListener('click', () => wantCode(''));
  pause.addEventListener('click', togglePause);
  byId('filters', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
  rows.addEventListener('click', (event) => {
    if (!(event.target instanceof Element) || event.target.closest('a') !== null) return;
    // Text that somebody has just selected is not an access request to open the request.
    if (getSelection()?.isCollapsed !== false) event.target.closest('tr')?.querySelector('a')?.click();
  });
  rows.addEventListener('focusin', (event) => {
    for (const link of rows.querySelectorAll('a[tabindex="0"]')) link.setAttribute('tabindex', '-1');
    if (event.target instanceof HTMLAnchorElement) event.target.setAttribute('tabindex', '0');
  });

  /** @param {readonly RequestLine[]} lines the newest first */
  const remember = (lines) => {
    const fresh = lines.filter(({ id }) => !ids.has(id));
    kept = [...fresh, ...kept].slice(0, maxKept);
    ids = new Set(kept.map(({ id }) => id));
    return fresh;
  };

  return {
    /** @param {readonly RequestLine[]} lines */
    reset(lines) {
      kept = [];
      ids = new Set();
      remember(lines);
      if (!isPaused) draw();
    },
    /** @param {FeedBatch} batch */
    add({ lines, seen, shown }) {
      const fresh = remember(
        [...lines].sort((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0)),
      );
      sample(seen, shown);
      if (isPaused) missed += fresh.length;
      else rows.prepend(...fresh.filter(passes).slice(0, maxRows).map(createRow));
      settle();
    },
    /** @param {readonly string[]} names */
    nameSandboxes(names) {
      const all = [...new Set([...names, ...(sandbox.value === '' ? [] : [sandbox.value])])].sort();
      const present = [...sandbox.options].map(({ value }) => value);
      if (present.join('\n') === ['', ...all].join('\n')) return;
      const chosen = sandbox.value;
      sandbox.replaceChildren(
        el('option', { value: '' }, 'all'),
        ...all.map((name) => el('option', { value: name }, cut(name, 64))),
      );
      sandbox.value = chosen;
    },
    /** @param {string} name */
    showSandbox(name) {
      this.nameSandboxes([...[...sandbox.options].map(({ value }) => value).filter((value) => value !== ''), name]);
      sandbox.value = name;
      draw();
      byId('feed', HTMLElement).focus();
    },
    /** @param {string} wanted */
    showCode(wanted) {
      wantCode(wanted);
      byId('feed', HTMLElement).focus();
    },
    togglePause,
    /** @param {1 | -1} by */
    move(by) {
      const links = [...rows.querySelectorAll('a')];
      const at = links.findIndex((link) => link.matches(':focus'));
      const next = at < 0 ? links.find((link) => link.tabIndex === 0) : links[at + by];
      next?.focus();
    },
  };
}

/** @type {{atMs: number, seen: number, shown: number}[]} */
let lately = [];
/** @type {ReturnType<typeof setTimeout> | undefined} */
let saidLast;

/**
 * "showing 40 of 260 in the last second": only when something was left out.
 * @param {number} seen
 * @param {number} shown
 */
function sample(seen, shown) {
  const nowMs = performance.now();
  lately = [...lately.filter(({ atMs }) => nowMs - atMs < 1000), { atMs: nowMs, seen, shown }];
  const all = lately.reduce((sum, batch) => sum + batch.seen, 0);
  const some = lately.reduce((sum, batch) => sum + batch.shown, 0);
  say(byId('sampling', HTMLElement), all > some ? `showing ${count(some)} of ${count(all)} in the last second` : '');
  clearTimeout(saidLast);
  // When nothing comes after it, that second passes all the same.
  if (all > some) saidLast = setTimeout(() => sample(0, 0), 1000);
}

/** @param {RequestLine} line */
function createRow(line) {
  const at = Date.parse(line.time);
  const where = `${origin(line)}${line.path}`;
  const link = el(
    'a',
    { href: `#request/${encodeURIComponent(line.id)}`, tabindex: -1, class: 'raw', title: `${line.method} ${where}` },
    el('span', { class: 'method' }, cut(line.method, 16)),
    ' ',
    el('strong', {}, cut(origin(line), 80)),
    cut(line.kind === 'connect' || line.kind === 'tunnel' ? '' : line.path, 200),
  );
  const outcome = el(
    'td',
    { class: 'outcome' },
    el('span', { class: 'dot', 'aria-hidden': 'true' }),
    el('span', {}, line.status === 0 ? '–' : line.status),
    el('span', { class: 'unseen' }, ` ${line.verdict}`),
  );
  return el(
    'tr',
    { class: `row ${/^[a-z]+$/.test(line.verdict) ? line.verdict : ''}` },
    el('td', { class: 'time', title: fullTime(at) }, Number.isNaN(at) ? '' : clockTime(at)),
    outcome,
    el(
      'td',
      { class: 'request' },
      el('div', {}, link, line.code === null ? null : el('span', { class: 'code' }, line.code)),
    ),
    el('td', { class: 'raw sandbox-cell', title: line.sandbox ?? 'not identified' }, cut(line.sandbox ?? '–', 40)),
    el('td', { class: 'right soft' }, took(line.ms)),
  );
}
