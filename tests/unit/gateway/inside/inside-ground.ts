// The page inside a sandbox without the rest of the gateway: a api that remembers what it was asked, and flows by hand.

import { createInside, type InsideParts } from '../../../../src/gateway/inside/answer-inside.ts';
import type {
  AccessRequest,
  InsideApi,
  ReportedAccessRequest,
  ReportedRefusal,
} from '../../../../src/path/approvals.ts';
import type { BodyWriter, Exchange } from '../../../../src/path/exchange/exchange.ts';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import type { Authorized } from '../../../../src/path/flow.ts';
import { granted } from '../../../../src/path/stamps/granted.ts';
import { acceptedFlow, callerFrom, canonicalOf, sandboxWith } from '../../../support/hand-made-flow.ts';

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

export const aRefusal: ReportedRefusal = {
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

export const anAccessRequest: ReportedAccessRequest = {
  id: 'q1',
  state: 'waiting',
  url: 'https://docs.example/api',
  method: 'GET',
  askedAt: '2027-01-01T00:00:00.000Z',
  until: null,
  next: 'A person has been asked.',
};

export interface PretendRegistrar extends InsideApi {
  /** Whom every question was about. */
  readonly askedFor: string[];
  readonly accessRequests: AccessRequest[];
}

export function pretendRegistrar(over: Partial<InsideApi> = {}): PretendRegistrar {
  const askedFor: string[] = [];
  const accessRequests: AccessRequest[] = [];
  const forSandbox = <T>(sandbox: string, value: T): T => {
    askedFor.push(sandbox);
    return value;
  };
  return {
    askedFor,
    accessRequests,
    refusalsOf: async (sandbox) => forSandbox(sandbox, [aRefusal]),
    accessRequest: async (sandbox, accessRequest) => {
      accessRequests.push(accessRequest);
      return forSandbox(sandbox, anAccessRequest);
    },
    accessRequestsOf: async (sandbox) => forSandbox(sandbox, [anAccessRequest]),
    ...over,
  };
}

export async function askInside(asked: Asked, parts: Partial<InsideParts> = {}): Promise<Told> {
  const inside = createInside({ api: pretendRegistrar(), explain: () => [], ...parts });
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
    permission: granted({
      rule: 'built-in',
      tunnel: false,
      credential: null,
      git: null,
      github: null,
      repository: null,
      inside: true,
    }),
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
