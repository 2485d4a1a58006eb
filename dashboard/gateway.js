// The page's one connection to its gateway: what it asks, what it changes, and the stream of what happens. Comes back by
// itself when the gateway does; says so when its session has ended. Talks to nobody else.

/** @typedef {import('../src/gateway/dashboard/shapes.ts').PageState} PageState */
/** @typedef {import('../src/gateway/dashboard/shapes.ts').FeedBatch} FeedBatch */
/** @typedef {'connecting' | 'live' | 'reconnecting' | 'crowded' | 'ended'} Connection */
/** @typedef {Omit<PageState, 'requests'> & {readonly requests: FeedBatch}} Parts */

/** Where the word of this visit is kept: each port of a machine has a store of its own, where it has no cookies of its own. */
const wordKept = 'sallyport-visit';
const given = takeWord();

/** A further visit of this browser has a new word, and a page of the one before goes on with it. */
function word() {
  try {
    return localStorage.getItem(wordKept) ?? given;
  } catch {
    return given;
  }
}

/** Out of the address that the door led to, which then forgets it. */
function takeWord() {
  const told = /^#visit=([\w-]+)$/.exec(location.hash)?.[1];
  try {
    if (told === undefined) return '';
    history.replaceState(null, '', location.pathname);
    localStorage.setItem(wordKept, told);
  } catch {
    // A browser that keeps nothing: the visit ends with this page.
  }
  return told ?? '';
}

/** An answer that is not a success, in the gateway's own words. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} path
 * @returns {Promise<unknown>}
 */
export function ask(path) {
  return call(path, {});
}

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<unknown>}
 */
export function change(path, body = {}) {
  return call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/**
 * @param {string} path
 * @param {RequestInit & {headers?: Record<string, string>}} options
 * @returns {Promise<unknown>}
 */
async function call(path, options) {
  let answer;
  try {
    const headers = { ...options.headers, 'x-sallyport-csrf': word() };
    answer = await fetch(path, { ...options, headers, cache: 'no-store', signal: AbortSignal.timeout(30_000) });
  } catch {
    throw new ApiError(0, 'The gateway does not answer. Is it running?');
  }
  const text = await answer.text();
  const body = parsed(text);
  if (answer.ok) return body;
  if (answer.status === 401)
    throw new ApiError(401, 'This visit has ended. Run `sallyport dashboard` for a new address.');
  const said = typeof body === 'object' && body !== null ? /** @type {Record<string, unknown>} */ (body) : {};
  const words = [said.error, said.hint].filter((part) => typeof part === 'string' && part !== '');
  throw new ApiError(answer.status, words.length > 0 ? words.join(' ') : `The gateway said ${answer.status}.`);
}

/**
 * @param {string} text
 * @returns {unknown}
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const firstWaitMs = 500;
/** The gateway says at least every fifteen seconds that it is there. */
const silentMs = 45_000;
const partNames = /** @type {const} */ ([
  'gateway',
  'sandboxes',
  'credentials',
  'questions',
  'approvals',
  'refusals',
  'traffic',
  'requests',
]);

/**
 * @param {object} listener
 * @param {(state: PageState) => void} listener.onState the whole of it: at first, and after every interruption
 * @param {<Name extends keyof Parts>(name: Name, value: Parts[Name]) => void} listener.onPart
 * @param {(connection: Connection) => void} listener.onConnection
 */
export function listen({ onState, onPart, onConnection }) {
  let waitMs = firstWaitMs;

  const loadState = async () => /** @type {PageState} */ (await ask('/api/state'));

  /**
   * @param {unknown} error
   * @param {Connection} meanwhile
   */
  const comeBack = (error, meanwhile = 'reconnecting') => {
    if (error instanceof ApiError && error.status === 401) {
      onConnection('ended');
      return;
    }
    onConnection(meanwhile);
    setTimeout(open, waitMs);
    waitMs = Math.min(waitMs * 2, 10_000);
  };

  const open = () => {
    const stream = new EventSource(`/api/events?word=${encodeURIComponent(word())}`);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let silence;
    const close = () => {
      clearTimeout(silence);
      stream.close();
    };
    /** @param {unknown} error */
    const giveUp = (error) => {
      if (stream.readyState === EventSource.CLOSED) return;
      close();
      comeBack(error);
    };
    // A forwarded port that is dead, or a gateway that is stopped, ends no connection: only the silence tells.
    const hear = () => {
      clearTimeout(silence);
      if (stream.readyState !== EventSource.CLOSED) silence = setTimeout(giveUp, silentMs, null);
    };
    hear();
    // What is told while the state is on its way may be newer than that, and is told once: it is shown after it.
    /** @type {(() => void)[] | null} */
    let early = [];
    stream.addEventListener('alive', hear);
    stream.addEventListener('open', () => {
      hear();
      loadState().then((state) => {
        if (stream.readyState !== EventSource.OPEN) return;
        onState(state);
        for (const show of early ?? []) show();
        early = null;
        waitMs = firstWaitMs;
        onConnection('live');
      }, giveUp);
    });
    stream.addEventListener('error', () => {
      // Refused, and not cut off: the browser does not try again by itself.
      const isRefused = stream.readyState === EventSource.CLOSED;
      if (!isRefused) onConnection('reconnecting');
      close();
      // A stream tells nothing of why it was refused; a plain request does. What has a session has only too many pages.
      loadState().then(
        (state) => {
          onState(state);
          comeBack(null, isRefused ? 'crowded' : 'reconnecting');
        },
        (error) => comeBack(error),
      );
    });
    for (const name of partNames) {
      stream.addEventListener(name, (event) => {
        hear();
        const value = parsed(/** @type {MessageEvent<string>} */ (event).data);
        if (value === null) return;
        const show = () => onPart(name, /** @type {Parts[typeof name]} */ (value));
        if (early === null) show();
        else early.push(show);
      });
    }
  };

  onConnection('connecting');
  open();
}
