// Credentials by name: where each comes from, whether it is set, how old, until when, and when it was last used. There is
// no value on this page, nor any way to ask for one.
import { age, ago, until } from './clock.js';
import { byId, el, fill, keyed, say } from './dom.js';
import { cut, fullTime } from './text.js';

/** @typedef {import('../src/gateway/admin/admin-ports.ts').CredentialStatus} CredentialStatus */

export function createCredentials() {
  const empty = byId('credentials-empty', HTMLParagraphElement);
  say(
    empty,
    'None is configured. Requests go out as the sandbox sent them. To add one: `credentials` in sallyport.yaml.',
  );
  const place = keyed(
    byId('credentials', HTMLTableSectionElement),
    (/** @type {CredentialStatus} */ { name }) => name,
    () => {
      const node = el('tr', {});
      return {
        node,
        /** @param {CredentialStatus} status */
        update: (status) => fill(node, cells(status)),
      };
    },
  );
  return {
    /** @param {readonly CredentialStatus[]} statuses */
    update(statuses) {
      empty.hidden = statuses.length > 0;
      byId('credentials-table', HTMLTableElement).hidden = statuses.length === 0;
      place(statuses);
    },
  };
}

/** @param {CredentialStatus} status */
function cells(status) {
  const since = Date.parse(status.since ?? '');
  const expires = Date.parse(status.expires ?? '');
  const lastUsed = Date.parse(status.lastUsed ?? '');
  return [
    el(
      'th',
      { scope: 'row', class: 'raw' },
      cut(status.name, 64),
      status.login === true ? el('span', { class: 'chip' }, 'login') : null,
    ),
    el('td', { class: 'raw', title: status.source, 'data-label': 'Source' }, cut(status.source, 60)),
    el('td', { 'data-label': 'State' }, stateOf(status)),
    el(
      'td',
      { 'data-label': 'Age', title: Number.isNaN(since) ? null : `first seen ${fullTime(since)}` },
      Number.isNaN(since) ? '–' : age(since),
    ),
    el('td', { 'data-label': 'Expires' }, Number.isNaN(expires) ? '–' : until(expires)),
    el('td', { 'data-label': 'Last used' }, Number.isNaN(lastUsed) ? 'not yet' : ago(lastUsed)),
  ];
}

/** @param {CredentialStatus} status */
function stateOf(status) {
  if (status.error !== null && status.error !== undefined)
    return el('span', { class: 'bad', title: status.error }, cut(status.error, 160));
  if (status.set) return el('span', { class: 'good' }, 'set');
  if (status.unasked === true) return el('span', { class: 'soft' }, 'asked when a request needs it');
  return el('span', { class: 'wait' }, 'not set: ', el('code', {}, `sallyport secret set ${status.name}`));
}
