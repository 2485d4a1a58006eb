// Questions and records as the gateway tells them, and a view that has heard some: for tests of `sallyport watch`.
import picocolors from 'picocolors';
import { renderFrame } from '../../../../src/cli/watch/watch-frame.ts';
import { type FeedRecord, WatchView } from '../../../../src/cli/watch/watch-view.ts';
import type { Question } from '../../../../src/path/approvals.ts';

/** Midnight, so that times in frames are easy to read. */
export const nowMs = Date.parse('2026-01-02T00:00:00Z');

export function question(id: string, more: Partial<Question> = {}): FeedRecord {
  const data: Question = {
    id,
    sandbox: 'sbx_1',
    method: 'GET',
    scheme: 'https',
    host: 'new.example.com',
    port: 443,
    path: '/v1/things',
    query: null,
    rule: 'allow[2]',
    credential: null,
    effect: null,
    repository: null,
    requestId: `r-${id}`,
    reason: null,
    askedAtMs: nowMs,
    untilMs: nowMs + 90_000,
    inVain: null,
    ...more,
  };
  return { event: 'question', data };
}

export function request(more: FeedRecord = {}): FeedRecord {
  const data = {
    time: '2026-01-02T00:00:00.000Z',
    sandbox: 'sbx_1',
    method: 'GET',
    scheme: 'https',
    host: 'api.example.com',
    port: 443,
    path: '/v1/models',
    verdict: 'allowed',
    status: 200,
    code: null,
    ms: 12.3,
    ...more,
  };
  return { event: 'request', data };
}

export function viewOf(...events: readonly FeedRecord[]): WatchView {
  const view = new WatchView();
  view.gateway = { ready: true, version: '0.1.0', sandboxes: 2 };
  view.message = 'connected';
  for (const event of events) view.hear(event, nowMs);
  return view;
}

export function frame(view: WatchView, columns = 80, rows = 16, isColoured = false): string[] {
  return renderFrame(view, { columns, rows }, picocolors.createColors(isColoured), nowMs);
}
