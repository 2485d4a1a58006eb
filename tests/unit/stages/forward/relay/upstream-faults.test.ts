import { expect, test } from 'vitest';
import { Refusal } from '../../../../../src/path/refusal.ts';
import { stoodStill, unnamed } from '../../../../../src/stages/forward/relay/upstream-faults.ts';
import { acceptedFlow, callerFrom, canonicalOf } from '../../../../support/hand-made-flow.ts';

const flow = acceptedFlow(callerFrom(), canonicalOf('POST', 'https://api.example/'));

test.each([
  ['the client, which has not sent its body', false, false, 'client.timeout', 'headers'],
  ['the upstream, which has all that it takes', false, true, 'upstream.timeout', 'headers'],
  ['the upstream, which had begun to answer', true, true, 'upstream.timeout', 'idle'],
  ['the upstream, which answers before it was given all', true, false, 'upstream.timeout', 'idle'],
])('when nothing moves, the one is named whose turn it was: %s', (_who, answered, given, code, limit) => {
  expect(stoodStill(flow, answered, given)).toMatchObject({ code, rule: `limits.${limit}_timeout_ms` });
});

test('a place that only an upstream named is not named to the sandbox, but when to try again is', () => {
  const refusal = new Refusal('upstream.circuit-open', 'storage.example is left alone', { retryAfterSeconds: 7 });
  let told: unknown;
  try {
    unnamed(flow)(refusal);
  } catch (error) {
    told = error;
  }
  expect(told).toMatchObject({ code: 'upstream.circuit-open', retryAfterSeconds: 7, cause: refusal });
  expect((told as Refusal).message).toBe('api.example named a storage server that could not be reached');
});
