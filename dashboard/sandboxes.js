// Sandboxes: who is behind the door, how each proves itself, what it may do, how busy it is and what it has spent; and the
// switch that ends one. Below them what was approved for a while. Nothing is revoked without its name in the question.
import { until } from './clock.js';
import { openConfirm } from './dialogs.js';
import { byId, el, factList, fill, keyed, say } from './dom.js';
import { change } from './gateway.js';
import { bytes, count, counted, cut, dollars, origin } from './text.js';

/** @typedef {import('../src/gateway/dashboard/shapes.ts').SandboxView} SandboxView */
/** @typedef {import('../src/path/approvals.ts').Approval} Approval */

/** @param {(sandbox: string) => void} onShow the feed is wanted of this one alone */
export function createSandboxes(onShow) {
  const said = byId('sandboxes-said', HTMLParagraphElement);
  const empty = byId('sandboxes-empty', HTMLParagraphElement);
  /** @param {string} words */
  const tell = (words) => say(said, words);
  const place = keyed(
    byId('sandboxes', HTMLUListElement),
    (/** @type {SandboxView} */ { id }) => id,
    (view) => createCard(view, onShow, tell),
  );
  const placeApprovals = keyed(
    byId('approvals', HTMLUListElement),
    (/** @type {Approval} */ { id }) => id,
    (approval) => createApproval(approval, tell),
  );
  say(empty, 'No sandbox is registered. Start one: sallyport run -- COMMAND');
  return {
    /** @param {readonly SandboxView[]} views */
    update(views) {
      place(views);
      empty.hidden = views.length > 0;
      say(byId('sandboxes-count', HTMLElement), views.length === 0 ? '' : views.length);
    },
    /** @param {readonly Approval[]} approvals */
    updateApprovals(approvals) {
      byId('approvals-part', HTMLElement).hidden = approvals.length === 0;
      placeApprovals(approvals);
    },
  };
}

/**
 * @param {SandboxView} first
 * @param {(sandbox: string) => void} onShow
 * @param {(words: string) => void} tell
 */
function createCard(first, onShow, tell) {
  const { id } = first;
  const marks = el('span', { class: 'marks' });
  const body = el('div', {});
  const spent = el('div', {});
  const revoke = el('button', { type: 'button', class: 'grave small', 'aria-label': `Revoke ${id}` }, 'Revoke…');
  revoke.addEventListener('click', () => openRevoke(id, tell));
  const show = el('button', { type: 'button', class: 'link raw', title: `Show the requests of ${id}` }, cut(id, 64));
  show.addEventListener('click', () => onShow(id));
  const node = el(
    'li',
    { class: 'sandbox' },
    el('div', { class: 'head' }, el('h3', {}, show, marks), revoke),
    body,
    spent,
  );
  let before = '';
  return {
    node,
    /** @param {SandboxView} view */
    update(view) {
      const seen = JSON.stringify(view);
      if (seen === before) return;
      before = seen;
      fill(
        marks,
        view.isLearning
          ? [
              el(
                'span',
                {
                  class: 'chip wait',
                  title: 'Unknown public hosts are let through to it, to read, without any credential',
                },
                'learning',
              ),
            ]
          : [],
      );
      fill(body, [
        factList([
          ['May', el('span', { class: 'raw' }, policyOf(view))],
          [
            'Credentials',
            view.credentials === null ? 'all that are configured' : view.credentials.join(', ') || 'none',
          ],
          ['Last minute', loadOf(view)],
          [
            'Proven by',
            [view.proof.join(', ') || 'nothing yet', view.container, view.address].filter(Boolean).join(' · '),
          ],
          ['Ends', until(Date.parse(view.expiresAt))],
        ]),
      ]);
      fill(spent, budgetBars(view));
    },
  };
}

/** @param {SandboxView} view */
function policyOf({ repos, branches, authMode }) {
  if (repos.length === 0) return 'no repository';
  return `${repos.join(', ')}${branches.length === 0 ? '' : ` on ${branches.join(', ')}`} as ${authMode}`;
}

/** @param {SandboxView} view */
function loadOf({ load }) {
  if (load.requests === 0) return 'quiet';
  const refused = load.refused === 0 ? '' : ` · ${count(load.refused)} refused`;
  return `${counted(load.requests, 'request')}${refused} · ${bytes(load.bytes)}`;
}

/** @param {SandboxView} view */
function budgetBars({ spent, budget }) {
  const bars = [];
  const period = spent.period === 'day' ? ' today' : spent.period === '' ? '' : ` this ${spent.period}`;
  if (budget.dollars > 0)
    bars.push(
      bar(`${dollars(spent.dollars)} of ${dollars(budget.dollars)} spent${period}`, spent.dollars / budget.dollars),
    );
  if (budget.tokens > 0)
    bars.push(
      bar(`${count(spent.tokens)} of ${counted(budget.tokens, 'token')} spent${period}`, spent.tokens / budget.tokens),
    );
  if (bars.length === 0 && (spent.tokens > 0 || spent.dollars > 0))
    bars.push(
      el(
        'p',
        { class: 'soft' },
        `Spent ${dollars(spent.dollars)} and ${counted(spent.tokens, 'token')}${period}; no budget is set.`,
      ),
    );
  return bars;
}

/**
 * @param {string} words
 * @param {number} share
 */
function bar(words, share) {
  const level = el('span', { class: share > 0.8 ? 'level high' : 'level' });
  const percent = Math.min(100, Math.max(0, share * 100));
  level.style.setProperty('width', `${percent}%`);
  const meter = el(
    'span',
    {
      class: 'meter',
      role: 'meter',
      'aria-label': 'Budget spent',
      'aria-valuemin': 0,
      'aria-valuemax': 100,
      'aria-valuenow': Math.round(percent),
      'aria-valuetext': words,
    },
    level,
  );
  return el('div', { class: 'budget' }, meter, el('span', { class: 'soft' }, words));
}

/**
 * @param {string} id
 * @param {(words: string) => void} tell
 */
function openRevoke(id, tell) {
  openConfirm({
    title: `Revoke ${cut(id, 64)}?`,
    body: [
      el(
        'p',
        {},
        'From now on every request of this sandbox is refused. It cannot be taken back: it would have to be registered again.',
      ),
    ],
    confirm: `Revoke ${cut(id, 40)}`,
    isGrave: true,
    async onConfirm() {
      const reply = /** @type {{unconfirmed?: readonly string[]} | null} */ (
        await change(`/api/sandboxes/${encodeURIComponent(id)}/revoke`)
      );
      const others = reply?.unconfirmed ?? [];
      tell(
        others.length === 0
          ? `${id} is revoked.`
          : `${id} is revoked here. Not confirmed by: ${others.join(', ')}. Look whether those gateways run.`,
      );
    },
    // The button that opened it goes with its card.
    onDone: () => byId('sandboxes-title', HTMLElement).focus(),
  });
}

/**
 * @param {Approval} approval
 * @param {(words: string) => void} tell
 */
function createApproval(approval, tell) {
  const what = coveredBy(approval);
  const end = el('button', { type: 'button', class: 'small', 'aria-label': `End the approval of ${what}` }, 'End');
  end.addEventListener('click', async () => {
    end.disabled = true;
    try {
      await change(`/api/approvals/${encodeURIComponent(approval.id)}/end`);
      tell(`Ended: ${what}.`);
    } catch (error) {
      end.disabled = false;
      tell(error instanceof Error ? error.message : String(error));
    }
  });
  const node = el(
    'li',
    {},
    el(
      'div',
      {},
      el('span', { class: 'who' }, approval.sandbox),
      ' ',
      el('span', { class: 'raw', title: what }, cut(what, 120)),
      el('div', { class: 'soft' }, until(approval.untilMs, 'left'), ` · by ${approval.by}`),
    ),
    end,
  );
  return { node, update: () => {} };
}

/** @param {Approval} approval */
function coveredBy({ covers }) {
  const carrying = covers.credential === null ? '' : `, with ${covers.credential}`;
  if (covers.kind === 'effect')
    return `${covers.effect} on ${covers.repository ?? 'every repository'} at ${origin(covers)}${carrying}`;
  const path = covers.tunnel ? ' (tunnel)' : (covers.path ?? '/ and every path');
  return `${covers.method}${covers.websocket ? ' (WebSocket)' : ''} ${origin(covers)}${path}${carrying}`;
}
