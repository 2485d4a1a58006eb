// The page inside a sandbox without the rest of the gateway: a desk that remembers what it was asked, and flows by hand.
import type { InsideDesk, ToldRefusal, ToldWish, Wish } from '../../../src/flow/approvals.ts';
import type { BodyWriter, Exchange } from '../../../src/flow/exchange.ts';
import type { Authorized } from '../../../src/flow/flow.ts';
import { HeaderList } from '../../../src/flow/header-list.ts';
import { createInside, type InsideParts } from '../../../src/inside/answer-inside.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../support/hand-made-flow.ts';

export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
  readonly sandbox?: string;
}

export interface Told {
  readonly status: number;
  readonly headers: HeaderList;
  readonly text: string;
  json(): Record<string, unknown>;
}

export const aRefusal: ToldRefusal = {
  time: '2027-01-01T00:00:00.000Z',
  requestId: 'abc-1',
  method: 'GET',
  url: 'https://other.example/x?key=…',
  status: 403,
  code: 'domain.not-allowed',
  rule: 'allow (no rule covers the host)',
  reason: 'other.example is not on the allowlist',
  hint: 'To allow it, add:\n  - host: other.example',
};

export const aWish: ToldWish = {
  id: 'q1',
  state: 'waiting',
  url: 'https://docs.example/api',
  method: 'GET',
  askedAt: '2027-01-01T00:00:00.000Z',
  until: null,
  next: 'A person has been asked.',
};

export interface PretendDesk extends InsideDesk {
  /** Whom every question was about. */
  readonly askedFor: string[];
  readonly wishes: Wish[];
}

export function pretendDesk(over: Partial<InsideDesk> = {}): PretendDesk {
  const askedFor: string[] = [];
  const wishes: Wish[] = [];
  const forSandbox = <T>(sandbox: string, value: T): T => {
    askedFor.push(sandbox);
    return value;
  };
  return {
    askedFor,
    wishes,
    refusalsOf: async (sandbox) => forSandbox(sandbox, [aRefusal]),
    wish: async (sandbox, wish) => {
      wishes.push(wish);
      return forSandbox(sandbox, aWish);
    },
    wishesOf: async (sandbox) => forSandbox(sandbox, [aWish]),
    ...over,
  };
}

export async function askInside(asked: Asked, parts: Partial<InsideParts> = {}): Promise<Told> {
  const inside = createInside({ desk: pretendDesk(), explain: () => [], ...parts });
  const { status, headers, body } = await inside(flowOf(asked));
  const text = body.toString();
  return { status, headers, text, json: () => JSON.parse(text) as Record<string, unknown> };
}

function flowOf({ method = 'GET', path, headers = [], body = '', sandbox = 'sbx_test' }: Asked): Authorized {
  const canonical = canonicalOf(method, `http://sallyport.internal${path}`);
  return {
    ...acceptedFlow(callerFrom(), canonical, { headers: HeaderList.from(headers) }),
    exchange: exchangeWith(Buffer.from(body)),
    sandbox: sandboxWith({ id: sandbox }),
    permission: {
      rule: 'built-in',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
      inside: true,
    },
  };
}

/** As much of an exchange as a body needs. */
function exchangeWith(body: Buffer): Exchange {
  const exchange = {
    requestFraming: { kind: 'chunked' },
    onAbandoned: null,
    asPayload: () => exchange,
    sendBody(to: BodyWriter) {
      to.write(body);
      to.end(null);
    },
  };
  return exchange as unknown as Exchange;
}
