// What the doors ask about plain connections, of the policy in force: which they are, and whether one that is open would still be
// let in. By the decision of the path itself.
import { Refusal } from '../../path/refusal.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { canonicalise } from '../../stages/accept/accept-stage.ts';
import type { PlainPlaces, PlainPorts } from '../../stages/accept/doors/door-ports.ts';
import { decide } from '../../stages/authorize/decide.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';
import type { ApprovalsInForce } from '../approvals/approvals-in-force.ts';

export function createPlainPorts(
  policy: () => CompiledPolicy,
  registry: Pick<SandboxRegistry, 'find'>,
  approvals: Pick<ApprovalsInForce, 'policyFor'>,
): PlainPorts {
  let places: { readonly of: CompiledPolicy; readonly are: PlainPlaces } | null = null;
  return {
    places() {
      const current = policy();
      if (places?.of !== current) places = { of: current, are: placesOf(current) };
      return places.are;
    },
    whyNoLonger(request, sandboxId) {
      const sandbox = sandboxId === null ? null : registry.find(sandboxId);
      // One that is gone is cut with all that it has.
      if (sandbox === null || request.fault !== null) return null;
      try {
        decide(approvals.policyFor(policy(), sandbox.id), sandbox, canonicalise(request), request.headers);
        return null;
      } catch (error) {
        if (error instanceof Refusal) return error;
        throw error;
      }
    },
  };
}

function placesOf({ tcp, allow }: CompiledPolicy): PlainPlaces {
  return { tcp, read: new Set(allow.flatMap(({ ports }) => ports)) };
}
