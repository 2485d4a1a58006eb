// From what an operator names (a Docker network, a bridge, the gateway) to a plan: looks up what the kernel and Docker know,
// and takes the ports from the configuration, so that the firewall lets through what the gateway listens on and no more.
import { BlockList, isIPv6 } from 'node:net';
import type { DockerApi } from '../../kit/docker/docker-api.ts';
import { bridgeNameOption, type DockerContainer } from '../../kit/docker/docker-shapes.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { listBridgeAddresses, listBridgePorts, portOfProcess } from './bridge-ports.ts';
import type { FirewallGateway, FirewallPlan } from './firewall-plan.ts';
import { checkAddress, FirewallError, parsePin } from './pin.ts';

/** As given on the command line. */
export interface FirewallAsked {
  readonly bridge?: string;
  /** Of Docker. */
  readonly network?: string;
  /** `ADDRESS` of the bridge, or `ADDRESS=MAC@PORT` on it; at most one of each family. */
  readonly gateway?: readonly string[];
  readonly gatewayContainer?: string;
  /** TCP; instead of those of the configuration. 53 stands for DNS, which is UDP too. */
  readonly port?: readonly number[];
  readonly redirect?: boolean;
}

export type DockerReader = Pick<DockerApi, 'inspectContainer' | 'inspectNetwork'>;

export interface PlanParts {
  readonly docker: DockerReader;
  readonly policy: Pick<CompiledPolicy, 'listen' | 'allow'>;
  readonly seesBridge: boolean;
}

const dnsPort = 53;
const everyAddress = new Set(['0.0.0.0', '::']);

export async function planFirewall(asked: FirewallAsked, parts: PlanParts): Promise<FirewallPlan> {
  const bridge = await findBridge(asked, parts.docker);
  const gateway = await findGateway(asked, bridge, parts);
  const door = doorPorts(parts.policy, gateway);
  const tcpPorts = asked.port ?? [...door, ...listenerPorts(parts.policy, gateway)];
  const udpPorts = tcpPorts.includes(dnsPort) ? [dnsPort] : [];
  const led = (asked.port ?? door).filter((port) => port === dnsPort || door.length === 0 || door.includes(port));
  if (asked.redirect === true && led.length === 0) {
    throw new FirewallError(
      'there is no transparent door at that address to redirect to',
      'Configure listen.gateway for it, or name the ports with --port.',
    );
  }
  const redirect = asked.redirect === true ? { tcpPorts: led, udpPorts: led.includes(dnsPort) ? [dnsPort] : [] } : null;
  return { bridge, gateway, tcpPorts, udpPorts, redirect, seesBridge: parts.seesBridge };
}

export async function findBridge(
  { bridge, network }: Pick<FirewallAsked, 'bridge' | 'network'>,
  docker: Pick<DockerReader, 'inspectNetwork'>,
): Promise<string> {
  if (bridge !== undefined && network === undefined) return bridge;
  if (bridge !== undefined || network === undefined) {
    throw new FirewallError(
      'which network?',
      'Name it with --network NAME (of Docker) or --bridge NAME (of the host), one of the two.',
    );
  }
  const { Id, Driver, Options } = await docker.inspectNetwork(network);
  if (Driver !== 'bridge') {
    throw new FirewallError(
      `the Docker network ${network} is of the kind ${Driver}: it has no bridge on this host`,
      'Make one for sandboxes: docker network create --internal NAME',
    );
  }
  return Options[bridgeNameOption] ?? bridgeOfNetwork(Id);
}

/** How Docker names a bridge unless it is told otherwise. */
function bridgeOfNetwork(id: string): string {
  return `br-${id.slice(0, 12)}`;
}

/** What a container has on the network of this bridge. */
export async function endpointOn(
  container: DockerContainer,
  bridge: string,
  docker: Pick<DockerReader, 'inspectNetwork'>,
): Promise<{ readonly v4: string | null; readonly v6: string | null; readonly mac: string } | null> {
  for (const endpoint of Object.values(container.NetworkSettings.Networks)) {
    const { NetworkID: id, IPAddress: v4, GlobalIPv6Address: v6, MacAddress: mac } = endpoint;
    if (id === '' || mac === '') continue;
    const isIt =
      bridgeOfNetwork(id) === bridge || (await docker.inspectNetwork(id)).Options[bridgeNameOption] === bridge;
    if (isIt) return { v4: v4 === '' ? null : v4, v6: v6 === '' ? null : checkAddress(v6), mac };
  }
  return null;
}

async function findGateway(
  asked: FirewallAsked,
  bridge: string,
  { docker, policy }: PlanParts,
): Promise<FirewallGateway> {
  const { gateway: named = [], gatewayContainer: name } = asked;
  if (name !== undefined && named.length > 0) {
    throw new FirewallError('the gateway is named twice', 'Use --gateway or --gateway-container, not both.');
  }
  if (name !== undefined) return gatewayInContainer(name, bridge, docker);
  const pinned = named.filter((text) => text.includes('=')).map(parsePin);
  if (pinned.length > 0) {
    const [first, ...more] = pinned;
    const { port, mac } = first!;
    if (pinned.length < named.length || more.some((pin) => pin.port !== port || pin.mac !== mac)) {
      throw new FirewallError(
        'the gateway is at one port of the bridge, with one MAC, or on the host',
        'Name it once.',
      );
    }
    return { ...byFamily(pinned.map(({ address }) => address)), at: { port, mac } };
  }
  const own = await listBridgeAddresses(bridge);
  const found =
    named.length > 0 ? named.map(checkAddress) : own.filter((address) => isListedIn(policy.listen.gateway, address));
  const foreign = found.find((address) => !own.includes(address));
  if (foreign !== undefined) {
    throw new FirewallError(
      `${foreign} is not an address of ${bridge} on this host`,
      'A gateway in a container is named by --gateway-container NAME; one that is on the bridge in another way by --gateway ADDRESS=MAC@PORT.',
    );
  }
  if (found.length === 0) {
    throw new FirewallError(
      `where the gateway is on ${bridge} is not known`,
      'Name it: --gateway-container NAME, or --gateway ADDRESS for a gateway on this host.',
    );
  }
  return { ...byFamily(found), at: null };
}

async function gatewayInContainer(name: string, bridge: string, docker: DockerReader): Promise<FirewallGateway> {
  const container = await docker.inspectContainer(name);
  const endpoint = await endpointOn(container, bridge, docker);
  if (endpoint === null || !container.State.Running) {
    throw new FirewallError(
      `the container ${name} does not run on ${bridge}`,
      'Start it, and connect it to the network.',
    );
  }
  const port = await portOfProcess(container.State.Pid, endpoint.mac, await listBridgePorts(bridge));
  if (port === null) throw new FirewallError(`no port of ${bridge} leads to the container ${name}`);
  return { v4: endpoint.v4, v6: endpoint.v6, at: { port, mac: endpoint.mac } };
}

function byFamily(addresses: readonly string[]): { readonly v4: string | null; readonly v6: string | null } {
  const v4 = addresses.filter((address) => !isIPv6(address));
  // What every interface has of its own is no address that names lead to.
  const v6 = addresses.filter((address) => isIPv6(address) && !address.startsWith('fe80:'));
  if (v4.length > 1 || v6.length > 1) {
    throw new FirewallError(`the gateway has several addresses (${addresses.join(', ')})`, 'Name one with --gateway.');
  }
  return { v4: v4[0] ?? null, v6: v6[0] ?? null };
}

/** Of the transparent door at this gateway; none when it has none there. */
function doorPorts({ listen, allow }: PlanParts['policy'], gateway: FirewallGateway): number[] {
  if (!addressesOf(gateway).some((address) => isListedIn(listen.gateway, address))) return [];
  return [dnsPort, 80, 443, ...allow.flatMap(({ ports }) => ports)];
}

/** Of the proxy and mTLS doors that listen there: a port that only loopback has is none of the sandbox's. */
function listenerPorts({ listen }: PlanParts['policy'], gateway: FirewallGateway): number[] {
  return [...listen.proxy, ...listen.mtls]
    .filter(({ host, port }) => port !== 0 && addressesOf(gateway).some((address) => isListedIn([host], address)))
    .map(({ port }) => port);
}

function addressesOf({ v4, v6 }: FirewallGateway): string[] {
  return [v4, v6].filter((address) => address !== null);
}

/** Whether one of these addresses, subnets or wildcards covers the address. */
function isListedIn(hosts: readonly string[], address: string): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  return hosts.some((host) => {
    if (everyAddress.has(host)) return true;
    const [network = '', length] = host.split('/');
    if (network === 'localhost' || isIPv6(network) !== isIPv6(address)) return false;
    const list = new BlockList();
    if (length === undefined) list.addAddress(network, family);
    else list.addSubnet(network, Number(length), family);
    return list.check(address, family);
  });
}
