// The doors on internal networks, opened with what they need of the other rooms: who is registered where, the ports that
// the policy names, and certificates for names and addresses.
import { isIP } from 'node:net';
import { callerAddress } from '../../kit/canonical-address.ts';
import { ownAddress } from '../../kit/process/own-address.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { Doors } from '../../stages/accept/doors/doors.ts';
import { gatewayAnswers } from '../../stages/accept/doors/gateway-door.ts';
import type { Ca } from '../../stages/accept/tls/ca.ts';
import { LeafMinter } from '../../stages/accept/tls/leaf.ts';
import type { SandboxRegistry } from '../../stages/identify/registry/registry.ts';

export interface GatewayDoorParts {
  readonly doors: Doors;
  readonly registry: SandboxRegistry;
  readonly ca: Ca;
  readonly leaves: LeafMinter;
  readonly policy: () => CompiledPolicy;
  /** Addresses or subnets. */
  readonly listen: readonly string[];
  /** Where other doors listen, `address:port`. */
  readonly taken: readonly string[];
}

/** Returns the addresses they listen on. Whoever fails half-way closes all doors. */
export async function openGatewayDoors(parts: GatewayDoorParts): Promise<string[]> {
  const { doors, registry, ca, leaves, policy } = parts;
  const addresses = parts.listen.map((host) => ownAddress(host));
  // Whoever dials an address at these doors has this gateway before him: a certificate for it makes the refusal readable.
  const addressLeaves = new LeafMinter({ ...ca, forOneSandbox: true });
  for (const address of addresses) {
    await doors.openGateway(
      {
        address,
        ports: portsOf(policy()),
        taken: parts.taken,
        answers: gatewayAnswers(address, addresses),
        sandboxAt: (from) => registry.lookUpAddress(callerAddress(from) ?? '')?.id ?? null,
      },
      (host) => (isIP(host) === 0 ? leaves : addressLeaves).contextFor(host),
    );
  }
  return addresses;
}

/** Every port that a rule names. */
export function portsOf({ allow, tcp }: CompiledPolicy): number[] {
  return [...allow, ...tcp].flatMap((rule) => rule.ports);
}
