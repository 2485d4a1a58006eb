// How a person comes in: the token of the address becomes the cookie and the word of a session, and the address bar forgets it.
// Wrong tokens wait a second for their answer, few at a time; a right one never waits, so that guessing locks nobody out.
import type { ServerResponse } from 'node:http';
import { giveWords } from './page-answer.ts';
import type { PageSession, PageSessions } from './page-sessions.ts';
import type { VisitTokens } from './visit-tokens.ts';

export interface VisitDoorOptions {
  readonly tokens: VisitTokens;
  readonly sessions: PageSessions;
  /** Cookies do not tell ports apart: two gateways on one machine are told apart by this. */
  readonly cookieName: string;
  /** Replaced in tests. */
  readonly pause?: () => Promise<void>;
}

const maxWaiting = 4;

export class VisitDoor {
  readonly #options: VisitDoorOptions;
  readonly #pause: () => Promise<void>;
  #waiting = 0;

  constructor(options: VisitDoorOptions) {
    this.#options = options;
    this.#pause = options.pause ?? (() => new Promise((resolve) => setTimeout(resolve, 1_000).unref()));
  }

  async enter(token: string | null, session: PageSession | null, response: ServerResponse): Promise<void> {
    const { tokens, sessions, cookieName } = this.#options;
    if (token !== null && tokens.spend(token)) {
      const { cookie, word } = sessions.open(session);
      response.setHeader('set-cookie', cookieField(cookieName, cookie));
      // Behind the #: the page's scripts read it and take it out of the address; a browser sends it to nobody.
      return goToPage(response, `#visit=${word}`);
    }
    // Who is in already and comes by the old address again, e.g. out of the history, is not sent away.
    if (session !== null) return goToPage(response);
    if (this.#waiting >= maxWaiting) {
      response.setHeader('retry-after', '2');
      giveWords(response, 429, 'Too many wrong addresses', 'Wait a moment and try again.');
      return;
    }
    this.#waiting++;
    await this.#pause();
    this.#waiting--;
    giveNoSession(response);
  }
}

/** In words, for whoever can do something about it. */
export function giveNoSession(response: ServerResponse): void {
  const words =
    'The address of this page works once, within ten minutes. Run <code>sallyport dashboard</code> for a new one.';
  giveWords(response, 401, 'You are not signed in', words);
}

/** Out of reach of scripts, never sent along by another site, and of no other host. It ends with the browser. */
export function cookieField(name: string, value: string): string {
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict`;
}

/** Every value under that name: another port of this host may have set one of its own beside ours. */
export function cookiesNamed(name: string, field: string | undefined): string[] {
  const values: string[] = [];
  for (const pair of (field ?? '').split(';', 64)) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) values.push(pair.slice(equals + 1).trim());
  }
  return values.slice(0, 4);
}

function goToPage(response: ServerResponse, fragment = ''): void {
  response.statusCode = 303;
  response.setHeader('location', `/${fragment}`);
  response.end();
}
