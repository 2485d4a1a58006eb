// "Always": a line of the policy, shown where it would stand before it is written, and written only as it was shown.
import { openConfirm } from './dialogs.js';
import { el, fileLines, fill, say } from './dom.js';
import { ApiError, ask, change } from './gateway.js';
import { origin } from './text.js';

/** @typedef {import('../src/path/approvals.ts').Question} Question */
/** @typedef {import('../src/gateway/admin/admin-ports.ts').PolicyLine} PolicyLine */

/**
 * @param {Question} question
 * @param {'path' | 'host'} firstScope
 * @param {(words: string) => void} tell
 */
export function openAlways(question, firstScope, tell) {
  const address = `/api/questions/${encodeURIComponent(question.id)}`;
  const preview = el('div', { class: 'preview', 'aria-live': 'polite' });
  let scope = firstScope;
  /** @type {string | null} */
  let shown = null;

  const show = async () => {
    shown = null;
    yes.disabled = true;
    fill(preview, [el('p', { class: 'soft' }, 'Asking what would be written…')]);
    const asked = scope;
    try {
      const line = /** @type {PolicyLine} */ (await ask(`${address}/line?scope=${asked}`));
      if (asked !== scope) return;
      shown = line.text;
      fill(preview, [
        el('p', {}, 'This goes into ', el('code', {}, line.file), `, line ${line.line}:`),
        fileLines(line.text, line.line, '+ '),
        el('p', { class: 'soft' }, `It lets pass: ${line.covers}.`),
      ]);
      yes.disabled = false;
    } catch (error) {
      if (asked !== scope) return;
      fill(preview, [
        el('p', { class: 'problem', role: 'alert' }, error instanceof Error ? error.message : String(error)),
      ]);
    }
  };

  /**
   * @param {'path' | 'host'} value
   * @param {string} words
   */
  const choice = (value, words) => {
    const input = el('input', { type: 'radio', name: 'scope', value, checked: scope === value });
    input.addEventListener('change', () => {
      scope = value;
      void show();
    });
    return el('label', { class: 'check raw' }, input, ` ${words}`);
  };

  const hasPath = question.path !== '' && question.effect === null;
  const { yes } = openConfirm({
    title: 'Always allow this?',
    body: [
      el('p', {}, 'From then on it passes unasked, for every sandbox, until you take the line out again.'),
      hasPath
        ? el(
            'fieldset',
            {},
            el('legend', {}, 'How far'),
            choice('path', `${question.method} ${question.path} alone`),
            choice('host', `${question.method} on every path of ${origin(question)}`),
          )
        : '',
      preview,
    ],
    confirm: 'Write this line',
    async onConfirm() {
      if (shown === null) return;
      try {
        const reply = /** @type {{said?: string} | null} */ (
          await change(address, { answer: 'approve', for: 'always', scope, line: shown })
        );
        tell(reply?.said ?? 'Written, and in force.');
      } catch (error) {
        // Somebody changed the file meanwhile: the line is shown again, as it would be now.
        if (error instanceof ApiError && error.status === 409) void show();
        throw error;
      }
    },
  });
  say(yes, 'Write this line');
  void show();
}
