// A door that counts nothing, and limits of requests on meters of their own: for tests that are about something else.

import { LocalMeters } from '../../src/gateway/store/local-meters.ts';
import type { Limits } from '../../src/policy/compiled-limits.ts';
import type { DoorsOptions } from '../../src/stages/accept/doors/doors.ts';
import { RequestLimits } from '../../src/stages/authorize/limits/limits.ts';
import { usualLimits } from './hand-made-limits.ts';

export const openGate: DoorsOptions['gate'] = { enter: () => true, identified: () => true, leave: () => {} };

export function requestLimits(over: Partial<Limits> = {}, now?: () => number): RequestLimits {
  const limits = { ...usualLimits, ...over };
  return new RequestLimits({ limits: () => limits, meters: new LocalMeters(now) });
}
