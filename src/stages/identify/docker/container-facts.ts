// What Docker says of a container becomes the facts that a registration stands on, or the reason why there can be none.
// Pure: asks nobody, remembers nothing. An address is never taken from the registration without Docker saying the same.
// Guards: threats.md T1

import { canonicalAddress } from '../../../kit/canonical-address.ts';
import type { DockerContainer } from '../../../kit/docker/docker-shapes.ts';
import type { RegistrationRequest } from '../registry/registration.ts';
import { RegistrationError } from '../registry/registration-error.ts';
import type { SandboxRecord, WitnessedContainer } from '../registry/sandbox-record.ts';

export interface ContainerFacts extends WitnessedContainer {
  /** All 64 digits. */
  readonly id: string;
  /** Canonical; null on no network. */
  readonly address: string | null;
}

export interface GatewayPlace {
  /** Canonical addresses of the gateway's own interfaces. */
  readonly addresses: readonly string[];
  readonly hostname: string;
}

/** The registration with what Docker says in it. Throws a RegistrationError that says what is in the way. */
export function settleRegistration(
  asked: RegistrationRequest,
  container: DockerContainer,
  policyNetwork: string | null,
  gateway: GatewayPlace,
): RegistrationRequest {
  const facts = readFacts(container, asked, policyNetwork);
  // Docker gives a container the beginning of its id as its host name, unless told otherwise.
  const isGateway = /^[0-9a-f]{12}$/.test(gateway.hostname) && facts.id.startsWith(gateway.hostname);
  if (isGateway || (facts.address !== null && gateway.addresses.includes(facts.address))) {
    throw refused(`${facts.name} is the gateway itself`, 'Name the container of a sandbox.');
  }
  const { name, network, mac, pid, startedAt } = facts;
  const settled = { ...asked, containerId: facts.id, container: { name, network, mac, pid, startedAt } };
  if (facts.address === null) return settleNamespace(settled, facts);
  if (asked.namespacePid !== null) {
    throw refused(
      `${name} is on the network ${network}: a door in its namespace needs one on none`,
      'Start it with --network none, or leave namespace out.',
    );
  }
  return { ...settled, containerIp: facts.address };
}

/** Without a network it is known by the door in its namespace, and by nothing else. */
function settleNamespace(asked: RegistrationRequest, { name, pid }: ContainerFacts): RegistrationRequest {
  if (asked.containerIp !== null) {
    throw refused(`${name} is on no network and has no address`, 'Leave container_ip out.');
  }
  if (!asked.proofIsDefault && asked.proof.join() !== 'socket') {
    throw refused(`${name} is on no network: its proof is ["socket"], the door in its namespace`, 'Leave proof out.');
  }
  if (asked.namespacePid !== null && asked.namespacePid !== pid) {
    throw refused(`the first process of ${name} is ${pid}, not ${asked.namespacePid}`, 'Leave namespace out.');
  }
  return { ...asked, proof: ['socket'], namespacePid: pid };
}

/** `asked`: the network and the address that must be its own, where they were said. */
function readFacts(
  container: DockerContainer,
  asked: Pick<RegistrationRequest, 'network' | 'containerIp'>,
  policyNetwork: string | null,
): ContainerFacts {
  const name = nameOf(container);
  const standing = whyNotRunning(container);
  if (standing !== null) throw refused(`${name} ${standing}`, `See its state: docker ps --all --filter name=${name}`);
  const { Pid: pid, StartedAt: startedAt } = container.State;
  const one = { id: container.Id, name, pid, startedAt };
  const mode = container.HostConfig.NetworkMode;
  if (mode === 'host') {
    throw refused(`${name} has the network of its host, which is not its own`, 'Start it on a network or with none.');
  }
  if (mode.startsWith('container:')) {
    throw refused(`${name} shares the network of another container`, 'Register the container whose network it is.');
  }
  const networks = Object.keys(container.NetworkSettings.Networks);
  if (mode === 'none' && networks.join() === 'none') {
    if (asked.network !== null && asked.network !== 'none') throw notOn(name, asked.network, networks);
    return { ...one, network: null, mac: null, address: null };
  }
  const network = asked.network ?? policyNetwork ?? (networks.length === 1 ? networks[0]! : null);
  if (network === null) {
    throw refused(
      `${name} is on ${networks.length} networks (${networks.join(', ')})`,
      'Say which one: --network NAME',
    );
  }
  const endpoint = endpointOn(container, network);
  if (endpoint === null) throw notOn(name, network, networks);
  const addresses = addressesOf(endpoint);
  const address = asked.containerIp ?? addresses[0];
  if (address === undefined) throw refused(`${name} has no address on ${network}`, 'Wait until it has started.');
  if (!addresses.includes(address)) {
    throw refused(
      `${name} does not have the address ${address}: on ${network} Docker gave it ${addresses.join(' and ')}`,
      'Leave the address out: it is filled in.',
    );
  }
  return { ...one, network, mac: endpoint.MacAddress || null, address };
}

/** Null: the container is still the one that was registered, as it was. Otherwise what has become of it. */
export function whatChanged(record: SandboxRecord, container: DockerContainer): string | null {
  const before = record.container;
  if (before === null) return 'was registered before containers were checked with Docker';
  if (container.Id !== record.containerId) return 'is another container';
  const standing = whyNotRunning(container);
  if (standing !== null) return standing;
  if (container.State.StartedAt !== before.startedAt || container.State.Pid !== before.pid) return 'was started anew';
  if (before.network === null) {
    const others = Object.keys(container.NetworkSettings.Networks).filter((name) => name !== 'none');
    return others.length === 0 ? null : `was connected to ${others.join(', ')}`;
  }
  const endpoint = endpointOn(container, before.network);
  if (endpoint === null) return `has left the network ${before.network}`;
  if (record.containerIp === null || !addressesOf(endpoint).includes(record.containerIp)) return 'has another address';
  return (endpoint.MacAddress || null) === before.mac ? null : 'has another hardware address';
}

/** Docker puts a slash in front. */
export function nameOf({ Name: name }: { readonly Name: string }): string {
  return name.replace(/^\//, '');
}

function whyNotRunning({ State: state }: DockerContainer): string | null {
  if (state.Restarting) return 'is restarting';
  if (!state.Running || state.Pid <= 0) return 'is not running';
  return state.Paused ? 'is paused' : null;
}

type NetworkEndpoint = DockerContainer['NetworkSettings']['Networks'][string];

function endpointOn({ NetworkSettings: settings }: DockerContainer, network: string): NetworkEndpoint | null {
  // Own keys only: a network may be called `constructor`.
  return Object.hasOwn(settings.Networks, network) ? settings.Networks[network]! : null;
}

function addressesOf(endpoint: NetworkEndpoint): string[] {
  return [endpoint.IPAddress, endpoint.GlobalIPv6Address].flatMap((text) => canonicalAddress(text) ?? []);
}

function notOn(name: string, network: string, networks: readonly string[]): RegistrationError {
  const has = networks.join(', ') || 'none';
  return refused(
    `${name} is not on the network ${network} (it is on ${has})`,
    `Connect it (docker network connect ${network} ${name}), or name another with --network.`,
  );
}

function refused(what: string, hint: string): RegistrationError {
  return new RegistrationError('container.refused', `the container ${what}`, { hint });
}
