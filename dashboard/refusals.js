// What was refused, grouped by the rule that refused it: the line of the policy, how often, to whom, and what would make it
// pass. A group shows its requests in the feed.
import { ago } from './clock.js';
import { advice, byId, el, fileLines, fill, keyed, say } from './dom.js';
import { count, cut } from './text.js';

/** @typedef {import('../src/gateway/dashboard/shapes.ts').RefusalGroup} RefusalGroup */

const maxShown = 50;

/** @param {(code: string) => void} onShow */
export function createRefusals(onShow) {
  const empty = byId('refusals-empty', HTMLParagraphElement);
  say(empty, 'Nothing was refused since the gateway started.');
  const place = keyed(
    byId('refusals', HTMLUListElement),
    (/** @type {RefusalGroup} */ group) => `${group.code} ${group.rule}`,
    (group) => createGroup(group, onShow),
  );
  return {
    /** @param {readonly RefusalGroup[]} groups */
    update(groups) {
      empty.hidden = groups.length > 0;
      place([...groups].sort((one, other) => other.count - one.count).slice(0, maxShown));
    },
  };
}

/**
 * @param {RefusalGroup} first
 * @param {(code: string) => void} onShow
 */
function createGroup(first, onShow) {
  const times = el('span', { class: 'times' });
  const last = el('span', { class: 'soft' });
  const body = el('div', {});
  const show = el(
    'button',
    { type: 'button', class: 'link', title: `Show ${first.code} in the feed` },
    el('code', {}, first.code),
  );
  show.addEventListener('click', () => onShow(first.code));
  const node = el('li', { class: 'refusal' }, el('div', { class: 'head' }, el('h3', {}, times, ' ', show), last), body);
  let before = '';
  return {
    node,
    /** @param {RefusalGroup} group */
    update(group) {
      const seen = JSON.stringify(group);
      if (seen === before) return;
      before = seen;
      say(times, `${count(group.count)} ×`);
      fill(last, [ago(Date.parse(group.lastAt))]);
      const who = group.sandboxes.length === 0 ? 'nobody identified' : group.sandboxes.join(', ');
      fill(body, [
        el('p', { class: 'raw', title: group.example }, cut(group.example, 160)),
        el('p', { class: 'soft' }, `by ${group.rule} · ${cut(who, 160)}`),
        group.place === null
          ? null
          : el(
              'figure',
              { class: 'place' },
              el('figcaption', { class: 'soft' }, `${group.place.file}:${group.place.line}`),
              fileLines(group.place.text, group.place.line),
            ),
        group.hint === '' ? null : el('p', {}, el('strong', {}, 'To let it pass: '), advice(group.hint)),
      ]);
    },
  };
}
