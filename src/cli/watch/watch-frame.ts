// The picture that `sallyport watch` draws: one list of lines that fit the terminal, made from what is known. Pure. Whatever a
// sandbox has a say in is made harmless first, then fitted, then painted.
import type { Question } from '../../path/approvals.ts';
import type { CliContext } from '../cli-context.ts';
import { askedAddress, isUsualPort } from '../terminal/asked-address.ts';
import { cutTo, fillTo, widthOf, wrap } from '../terminal/fit-text.ts';
import { printable } from '../terminal/printable.ts';
import type { FeedRecord, WatchView } from './watch-view.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

type Colors = CliContext['colors'];
type Paint = (text: string) => string;

/** Of a name that we gave: `logs --sandbox` wants it whole. */
const idLength = 20;
const keysWhileAsked = '↑↓ select  a approve once  m for 15 min  d deny';
const keysAlways = 'r refused only  f filter  p pause  q quit';

/** At most `rows` lines of at most `columns` cells. */
export function renderFrame(view: WatchView, size: ScreenSize, colors: Colors, nowMs: number): string[] {
  const columns = Math.max(20, size.columns);
  const rows = Math.max(6, size.rows);
  const head = [...renderHead(view, columns, colors, nowMs), ...renderQuestions(view, columns, rows, colors, nowMs)];
  const foot = renderFoot(view, columns, colors);
  const room = Math.max(0, rows - head.length - foot.length);
  const above = [...head, ...renderFeed(view, columns, room, colors)];
  return [...above.slice(0, rows - foot.length), ...foot];
}

function renderHead(view: WatchView, columns: number, colors: Colors, nowMs: number): string[] {
  const { gateway } = view;
  const [state, paint]: [string, Paint] =
    gateway === null ? ['no gateway', colors.red] : gateway.ready ? ['ready', colors.green] : ['not ready', colors.red];
  const facts = [
    gateway === null ? '' : `${gateway.sandboxes} ${gateway.sandboxes === 1 ? 'sandbox' : 'sandboxes'}`,
    `${view.rate(nowMs).toFixed(1)} requests/s`,
    `${view.refused} of ${view.seen} refused`,
    view.lost === 0 ? '' : `${view.lost} not shown: too many at once`,
  ].filter((fact) => fact !== '');
  const title = cutTo(` sallyport ${printable(gateway?.version ?? '')}`.trimEnd(), columns - widthOf(state) - 2);
  const rest = cutTo(`  ${facts.join('  ')}`, columns - widthOf(title) - widthOf(state) - 2);
  return [`${colors.bold(title)}  ${paint(state)}${rest}`, colors.dim(cutTo(` ${printable(view.message)}`, columns))];
}

function renderQuestions(view: WatchView, columns: number, rows: number, colors: Colors, nowMs: number): string[] {
  const { questions, selected } = view;
  if (questions.length === 0) return [];
  const title = ` WAITING FOR YOU (${questions.length})`;
  const detail = selected === null ? [] : renderDetail(selected, columns, rows, colors);
  // Half of the screen is for the feed.
  const room = Math.max(1, Math.floor(rows / 2) - detail.length - 2);
  const at = Math.max(
    0,
    questions.findIndex(({ id }) => id === selected?.id),
  );
  const from = Math.max(0, Math.min(at - Math.floor(room / 2), questions.length - room));
  const lines = questions.slice(from, from + room).map((question) => {
    const isSelected = question.id === selected?.id;
    const line = questionLine(question, columns, nowMs);
    return isSelected ? colors.inverse(`>${line}`) : ` ${line}`;
  });
  return [colors.yellow(cutTo(title, columns)), ...lines, ...detail, ''];
}

function questionLine(question: Question, columns: number, nowMs: number): string {
  const left = Math.max(0, Math.ceil((question.untilMs - nowMs) / 1000));
  const end = ` ${left > 99 * 60 ? '>99 min' : left > 120 ? `${Math.ceil(left / 60)} min` : `${left} s`}`.padStart(8);
  const start = `${fillTo(printable(question.id), 6)} ${fillTo(printable(question.sandbox), columns >= 100 ? idLength : columns >= 60 ? 14 : 6)} `;
  const room = columns - 1 - widthOf(start) - widthOf(end);
  return cutTo(start + fillTo(askedAddress(question), room) + end, columns - 1);
}

/** Everything about the one that a key would answer: whole, as far as it fits. */
function renderDetail(question: Question, columns: number, rows: number, colors: Colors): string[] {
  const { rule, credential, effect, repository, reason, inVain, requestId } = question;
  const facts = [
    `rule ${printable(rule)}`,
    credential === null ? 'no credential' : `with ${printable(credential)}`,
    ...(effect === null ? [] : [`${printable(effect)}${repository === null ? '' : ` on ${printable(repository)}`}`]),
    ...(requestId === null ? ['a accessRequest: no request waits'] : []),
  ];
  const said = reason === null ? [] : wrap(`it says: "${printable(reason)}"`, columns - 4, 2);
  const vain = inVain === null ? [] : [`approving would change nothing: ${printable(inVain)}`];
  // Before the feed: nobody is to approve what is not on the screen.
  const most = Math.max(2, rows - 9);
  return [...wrap(askedAddress(question), columns - 4, most), facts.join(', '), ...said, ...vain].map((line, at) =>
    (at === 0 ? colors.bold : colors.dim)(`   ${cutTo(line, columns - 4)}`),
  );
}

function renderFeed(view: WatchView, columns: number, room: number, colors: Colors): string[] {
  // Not from the end: of no room at all that would be everything.
  const { records } = view;
  const shown = records.slice(Math.max(0, records.length - Math.max(0, room - 1)));
  const marks = [
    view.isPaused ? 'paused' : '',
    view.refusedOnly ? 'refused only' : '',
    view.filter === '' ? '' : `filter: ${printable(view.filter)}`,
  ].filter((mark) => mark !== '');
  const title = ` REQUESTS${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`;
  const lines = shown.map((record) => feedLine(record, columns, colors));
  const blank = Array.from({ length: Math.max(0, room - 1 - lines.length) }, () => '');
  return room === 0 ? [] : [colors.cyan(cutTo(title, columns)), ...lines, ...blank];
}

/** Narrow terminals lose the columns that say least: the time, then how long it took, then the sandbox. */
function feedLine(record: FeedRecord, columns: number, colors: Colors): string {
  const time = printable(record.time).slice(11, 19);
  if (typeof record.note === 'string')
    return colors.magenta(cutTo(` ${time} journal: ${printable(record.text)}`, columns));
  const verdict = printable(record.verdict);
  const paint = verdict === 'allowed' ? colors.green : verdict === 'refused' ? colors.yellow : colors.red;
  const before = [
    ...(columns >= 60 ? [fillTo(time, 8)] : []),
    ...(columns >= 50 ? [fillTo(printable(record.sandbox ?? '-'), columns >= 100 ? idLength : 10)] : []),
  ];
  const judged = `${fillTo(verdict, 9)} ${printable(record.status).padStart(3)}`;
  const ms = typeof record.ms === 'number' && columns >= 70 ? `${record.ms.toFixed(0)} ms`.padStart(9) : '';
  const target = [printable(record.method), targetOf(record), verdict === 'allowed' ? '' : printable(record.code)]
    .filter((part) => part !== '')
    .join(' ');
  const start = ` ${before.map((cell) => `${cell} `).join('')}`;
  const room = columns - widthOf(start) - widthOf(judged) - 1 - widthOf(ms);
  return `${colors.dim(start)}${paint(judged)} ${fillTo(target, room)}${colors.dim(ms)}`;
}

function targetOf({ scheme, host, port, path }: FeedRecord): string {
  // What could not be read as a request has none.
  if (typeof host !== 'string') return '';
  const usual = port === undefined || port === null || isUsualPort(scheme, port);
  return printable(`${scheme === 'http' ? 'http://' : ''}${host}${usual ? '' : `:${port}`}${path ?? ''}`);
}

function renderFoot(view: WatchView, columns: number, colors: Colors): string[] {
  if (view.isTyping) return [cutTo(` filter: ${printable(view.filter)}▏ Enter keeps it, Esc clears it`, columns)];
  const keys = view.questions.length === 0 ? keysAlways : `${keysWhileAsked}  ${keysAlways}`;
  return [colors.dim(cutTo(` ${keys}`, columns))];
}
