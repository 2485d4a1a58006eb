// The words in which a limit says no: which limit by its name in the policy, whose it is, and when it is worth trying
// again. A limit that many share tells that it is reached, and nothing of who reached it.
import { Refusal, type RefusalCode } from '../../../path/refusal.ts';
import type { WaitMs } from '../../../path/shared-store.ts';
import type { UseLimits } from '../../../policy/compiled-limits.ts';
import type { Scope } from './limit-scopes.ts';

export function tooFast(scope: Scope, limits: UseLimits, waitMs: WaitMs): Refusal {
  const { requestsPerMinute } = limits;
  const what = `is over ${requestsPerMinute} requests per minute`;
  return waiting('limit.rate', scope, 'requests_per_minute', what, waitMs);
}

/** Connections into which requests are then put: they count by themselves, at the same rate. */
export function tooManyTunnels(scope: Scope, limits: UseLimits, waitMs: WaitMs): Refusal {
  const what = `asks for tunnels (CONNECT) more than ${limits.requestsPerMinute} times per minute`;
  return waiting('limit.rate', scope, 'requests_per_minute', what, waitMs);
}

export function tooManyPushes(scope: Scope, limits: UseLimits, waitMs: WaitMs): Refusal {
  const what = `is over ${limits.pushesPerMinute} pushes per minute`;
  return waiting('limit.pushes', scope, 'pushes_per_minute', what, waitMs);
}

export function tooManyAtOnce(scope: Scope, limits: UseLimits, waitMs: WaitMs): Refusal {
  const key = `${scope.section}.concurrent_requests`;
  return new Refusal('limit.concurrent', `${scope.who} has ${limits.concurrentRequests} requests open already`, {
    rule: key,
    hint: `Let some of them end and try again, or have the operator raise ${key}.`,
    retryAfterSeconds: wholeSeconds(waitMs),
  });
}

export function tooManyBytes(scope: Scope, way: 'upload' | 'download', perMinute: number, waitMs: WaitMs): Refusal {
  const done = way === 'upload' ? 'sent' : 'received';
  const what = `has ${done} more than ${perMinute} bytes per minute`;
  return waiting('limit.bytes', scope, `${way}_bytes_per_minute`, what, waitMs);
}

export function tooMuchEvidence({ who }: Scope, waitMs: WaitMs): Refusal {
  const rule = 'audit.sandbox_bytes_per_day';
  const seconds = wholeSeconds(waitMs);
  return new Refusal(
    'limit.journal',
    `${who} has used its share of the journal: every request is recorded there, and there is no room for more of its records`,
    {
      rule,
      hint: `Wait ${seconds} s and try again, or have the operator raise ${rule}.`,
      retryAfterSeconds: seconds,
    },
  );
}

export function answerTooLong(maxBytes: number): Refusal {
  return new Refusal('limit.response-size', `the answer is longer than ${maxBytes} bytes`, {
    rule: 'limits.response_body_bytes',
    hint: 'Ask for less at a time (a range, a page), or have the operator raise limits.response_body_bytes.',
  });
}

function waiting(code: RefusalCode, { who, section }: Scope, key: string, what: string, waitMs: WaitMs): Refusal {
  const seconds = wholeSeconds(waitMs);
  const rule = `${section}.${key}`;
  return new Refusal(code, `${who} ${what}`, {
    rule,
    hint: `Wait ${seconds} s and try again, or have the operator raise ${rule}.`,
    retryAfterSeconds: seconds,
  });
}

/** Retry-After knows no less than a second; waiting as long as it says must be enough. */
function wholeSeconds(waitMs: WaitMs): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}
