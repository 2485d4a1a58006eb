// Dialogs: a question with two answers, and the help. Each is made when it is wanted and gone when it is closed; the
// browser gives the focus back. What is confirmed is always named in the words of the button.
import { el, say } from './dom.js';

/**
 * @param {object} parts
 * @param {string} parts.title
 * @param {readonly (Node | string)[]} parts.body
 * @param {string} parts.confirm the words of the button
 * @param {boolean} [parts.isGrave]
 * @param {() => Promise<void>} parts.onConfirm what it throws is shown in the dialog, which stays open
 * @param {() => void} [parts.onDone] the dialog is closed: before that nothing behind it takes the focus
 */
export function openConfirm({ title, body, confirm, isGrave = false, onConfirm, onDone }) {
  const problem = el('p', { class: 'problem', role: 'alert' });
  const yes = el('button', { type: 'button', class: isGrave ? 'grave' : 'primary' }, confirm);
  const dialog = openDialog('small', title, [
    ...body,
    problem,
    el('div', { class: 'buttons' }, el('button', { type: 'button', click: () => dialog.close() }, 'Cancel'), yes),
  ]);
  yes.addEventListener('click', async () => {
    yes.disabled = true;
    try {
      await onConfirm();
      dialog.close();
      onDone?.();
    } catch (error) {
      say(problem, error instanceof Error ? error.message : String(error));
    }
    yes.disabled = false;
  });
  return { dialog, yes };
}

let made = 0;

/**
 * @param {string} kind
 * @param {string} title
 * @param {readonly (Node | string)[]} body
 */
export function openDialog(kind, title, body) {
  const id = `dialog-${++made}`;
  const dialog = el(
    'dialog',
    { class: kind, 'aria-labelledby': id },
    el(
      'div',
      { class: 'head' },
      el('h2', { id, tabindex: -1, autofocus: true }, title),
      el('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', click: () => dialog.close() }, '✕'),
    ),
    ...body,
  );
  dialog.addEventListener('close', () => dialog.remove());
  // A click on the ground around it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

const keys = [
  ['/', 'filter the feed by host'],
  ['j  k', 'next or previous request in the feed'],
  ['Enter', 'open the request'],
  ['Esc', 'close what is open; leave the filter'],
  ['q', 'to the first question that waits'],
  ['a', 'approve the focused question once'],
  ['d', 'deny the focused question'],
  ['p', 'pause the feed, or go on'],
  ['?', 'this help'],
];

export function openHelp() {
  const rows = keys.map(([key, words]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, words)));
  openDialog('small', 'Keys', [el('dl', { class: 'facts keys' }, ...rows)]);
}
