// The second stage: a request becomes the request of one sandbox. The verdict is kept per caller (per connection),
// so that a secret is hashed once, but no request passes on a registration that is gone or over.

import { enrich } from '../../path/enrich.ts';
import type { Accepted, Caller, Identified } from '../../path/flow.ts';
import type { Stage } from '../../path/stage.ts';
import { proven } from '../../path/stamps/proven.ts';
import { identifyCaller } from './identify-caller.ts';
import { refuseUnserved } from './refuse-unserved.ts';
import type { SandboxRegistry } from './registry/registry.ts';
import type { SandboxRecord } from './registry/sandbox-record.ts';

export function createIdentifyStage(registry: SandboxRegistry): Stage<Accepted, Identified> {
  // Only positive verdicts: a caller that was refused may be registered the next moment.
  const verdicts = new WeakMap<Caller, SandboxRecord>();

  function identify(caller: Caller): SandboxRecord {
    const known = verdicts.get(caller);
    if (known !== undefined && registry.holds(known)) {
      refuseUnserved(registry, known);
      return known;
    }
    const record = identifyCaller(registry, caller);
    verdicts.set(caller, record);
    return record;
  }

  return {
    name: 'identify',
    run(flow) {
      const sandbox = identify(flow.caller);
      registry.touch(sandbox);
      return enrich(flow, { sandbox: proven(sandbox) });
    },
  };
}
