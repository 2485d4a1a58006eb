// Waiting for you: each request that a person is asked about, as a card with its answers. A card keeps its place and its
// focus while it waits; after one has gone the buttons of the others rest a moment, so that none slips under a finger.
import { openAlways } from './always.js';
import { until } from './clock.js';
import { byId, el, factList, keyed, say } from './dom.js';
import { change } from './gateway.js';
import { counted, cut, origin } from './text.js';
import { titleWaiting } from './title.js';

/** @typedef {import('../src/path/approvals.ts').Question} Question */
/** @typedef {import('../src/gateway/dashboard/shapes.ts').AnswerBody} AnswerBody */

const restMs = 500;
/** What of a path stands in the title of a card; the whole of a longer one stands below: nobody agrees to what is cut off. */
const pathShown = 160;

/** @param {(text: string) => void} announce */
export function createQuestions(announce) {
  const cards = byId('questions', HTMLDivElement);
  const said = byId('waiting-said', HTMLParagraphElement);
  const empty = byId('waiting-empty', HTMLParagraphElement);
  /** @type {Set<string>} */
  let known = new Set();

  /** @param {string} words */
  const tell = (words) => say(said, words);
  const place = keyed(
    cards,
    (/** @type {Question} */ { id }) => id,
    (question) => createCard(question, tell),
  );

  say(
    empty,
    'Nobody waits. A request that meets a rule that says ask is held here until you answer, and so is what an agent asks for.',
  );

  return {
    /** @param {readonly Question[]} questions */
    update(questions) {
      const focused = cards.contains(document.activeElement);
      const next = new Set(questions.map(({ id }) => id));
      const hasLeft = [...known].some((id) => !next.has(id));
      for (const question of questions) if (!known.has(question.id)) announce(`Waiting for you: ${titleOf(question)}`);
      known = next;
      place(questions);
      empty.hidden = questions.length > 0;
      byId('waiting', HTMLElement).classList.toggle('some', questions.length > 0);
      say(byId('waiting-count', HTMLElement), questions.length === 0 ? '' : questions.length);
      titleWaiting(questions.length);
      if (hasLeft) rest(cards);
      if (focused && !cards.contains(document.activeElement)) focusFirst();
    },
    focusFirst,
  };
}

function focusFirst() {
  const first = document.querySelector('.question');
  const target = first instanceof HTMLElement ? first : byId('waiting-title', HTMLElement);
  target.focus();
}

/** @param {Element} cards */
function rest(cards) {
  const buttons = [...cards.querySelectorAll('button')].filter(
    (button) => !button.disabled && button !== document.activeElement,
  );
  for (const button of buttons) button.disabled = true;
  setTimeout(() => {
    for (const button of buttons) button.disabled = false;
  }, restMs);
}

/** @param {Question} question */
function pathOf({ path, query }) {
  return query === null ? path : `${path}?${query}`;
}

/** @param {Question} question */
function titleOf(question) {
  return `${question.sandbox}: ${question.method} ${origin(question)}${cut(pathOf(question), 80)}`;
}

/**
 * @param {Question} question
 * @param {(words: string) => void} tell
 */
function createCard(question, tell) {
  const problem = el('p', { class: 'problem', role: 'alert' });
  const titleId = `question-${question.id}`;
  const isAccessRequest = question.requestId === null;

  /** @param {AnswerBody} answer */
  const give = async (answer) => {
    say(problem, '');
    for (const button of buttons) button.disabled = true;
    try {
      const reply = /** @type {{said?: string} | null} */ (
        await change(`/api/questions/${encodeURIComponent(question.id)}`, answer)
      );
      tell(reply?.said ?? `${answer.answer === 'deny' ? 'Denied' : 'Approved'}: ${titleOf(question)}.`);
    } catch (error) {
      say(problem, error instanceof Error ? error.message : String(error));
      for (const button of buttons) button.disabled = false;
    }
  };

  const minutes = el('input', { type: 'number', min: 1, max: 1440, value: 15, 'aria-label': 'Minutes' });
  const scope = scopeChoice(question);
  const forMinutes = el('button', { type: 'button' }, 'For 15 minutes');
  minutes.addEventListener('input', () => {
    const isGood = minutes.checkValidity() && minutes.value !== '';
    forMinutes.disabled = !isGood;
    say(forMinutes, isGood ? `For ${counted(minutes.valueAsNumber, 'minute')}` : '1 to 1440 minutes');
  });
  forMinutes.addEventListener('click', () =>
    give({ answer: 'approve', for: 'minutes', minutes: minutes.valueAsNumber, scope: scopeOf(scope) }),
  );
  const once = el('button', { type: 'button', class: 'primary', 'aria-keyshortcuts': 'a' }, 'Approve once');
  once.addEventListener('click', () => give({ answer: 'approve', for: 'once' }));
  const deny = el('button', { type: 'button', class: 'grave', 'aria-keyshortcuts': 'd' }, 'Deny');
  deny.addEventListener('click', () => give({ answer: 'deny' }));
  const always = el('button', { type: 'button' }, 'Always…');
  always.addEventListener('click', () => openAlways(question, scopeOf(scope), tell));
  const buttons = [once, forMinutes, always, deny];
  // Nobody waits with an access request: there is nothing to let pass once.
  once.hidden = isAccessRequest;
  if (isAccessRequest) forMinutes.classList.add('primary');

  const whileGroup = el('span', { class: 'joined', role: 'group', 'aria-label': 'Approve for a while' });
  whileGroup.append(forMinutes, minutes, scope);
  const node = el(
    'article',
    { class: 'question', tabindex: 0, 'aria-labelledby': titleId },
    el(
      'h3',
      { id: titleId },
      el('span', { class: 'who' }, question.sandbox),
      isAccessRequest ? ' asks for ' : ' wants ',
      el('span', { class: 'method' }, question.method),
      ' ',
      el(
        'span',
        { class: 'raw', title: `${question.scheme}://${question.host}:${question.port}${pathOf(question)}` },
        el('strong', {}, origin(question)),
        cut(pathOf(question), pathShown),
      ),
    ),
    question.reason === null ? null : el('blockquote', {}, question.reason),
    question.inVain === null
      ? null
      : el('p', { class: 'problem' }, `Approving it would change nothing: ${question.inVain}`),
    factList([
      [
        'Whole path',
        pathOf(question).length <= pathShown ? null : el('code', { class: 'whole', tabindex: 0 }, pathOf(question)),
      ],
      ['Rule', el('code', {}, question.rule)],
      ['Credential', question.credential === null ? 'none' : el('code', {}, question.credential)],
      ['Effect', question.effect],
      ['Repository', question.repository],
      [isAccessRequest ? 'Forgotten' : 'Time left', until(question.untilMs, isAccessRequest ? 'in' : 'bare')],
      ['Note', isAccessRequest ? 'Nobody waits: the agent asked on its own and tries again after your answer.' : null],
    ]),
    el('div', { class: 'buttons' }, ...(question.inVain === null ? [once, whileGroup, always] : []), deny),
    problem,
  );
  node.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
    // The focus goes on to the next card: a key that is still down from the one before is no answer to it.
    if (event.repeat) return;
    if (event.key === 'a' && once.isConnected && !once.hidden && !once.disabled) once.click();
    else if (event.key === 'd' && !deny.disabled) deny.click();
  });
  return { node, update: () => {} };
}

/** @param {Question} question */
function scopeChoice({ path, rule, repository }) {
  const select = el('select', { 'aria-label': 'How far it goes' });
  // Another rule may ask about a call that has an effect: then it is the address that is approved.
  const isEffect = rule.startsWith('github.effects.');
  const near = isEffect ? repository !== null : path !== '';
  if (near) select.append(el('option', { value: 'path' }, isEffect ? 'this repository' : 'this path'));
  select.append(el('option', { value: 'host' }, isEffect ? 'every repository' : 'whole host'));
  select.hidden = path === '';
  return select;
}

/**
 * @param {HTMLSelectElement} select
 * @returns {'path' | 'host'}
 */
function scopeOf(select) {
  return select.value === 'path' ? 'path' : 'host';
}

/** @param {EventTarget | null} target */
export function isField(target) {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
