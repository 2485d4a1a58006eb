// Who is on the network: its ports, from the kernel, and a pin for every registered sandbox, from Docker and the kernel. A
// registration says who may speak; what it has (address, MAC, port) is never taken from the registration alone.
import { DockerError } from '../../kit/docker/docker-error.ts';
import { type BridgePort, listBridgePorts, portOfProcess } from './bridge-ports.ts';
import type { FirewallPlan, Members } from './firewall-plan.ts';
import { checkAddress, FirewallError, type Pin } from './pin.ts';
import { type DockerReader, endpointOn } from './plan-firewall.ts';

/** The part of a registration that matters here, as the admin API shows it. */
export interface RegisteredSandbox {
  readonly id: string;
  readonly container_ip: string | null;
  readonly container_id: string | null;
}

export interface MemberSurvey {
  readonly members: Members;
  /** What the operator should hear: sandboxes of which nothing passes, and why. */
  readonly notes: readonly string[];
}

type Network = Pick<FirewallPlan, 'bridge' | 'gateway'>;

/** Throws when Docker cannot be asked: that nothing was learned is no reason to take anybody's pin away. */
export async function surveyMembers(
  network: Network,
  given: readonly Pin[],
  registered: readonly RegisteredSandbox[],
  docker: DockerReader,
): Promise<MemberSurvey> {
  const { bridge } = network;
  const ports = await listBridgePorts(bridge);
  const pins = [...given];
  const notes: string[] = [];
  for (const { port, address } of given) {
    if (!ports.some(({ name }) => name === port)) notes.push(`${address}: ${port} is not a port of ${bridge} now`);
  }
  for (const sandbox of registered) {
    const found = await pinOf(sandbox, network, ports, docker);
    if (found === null || (typeof found === 'string' && given.some(({ address }) => address === sandbox.container_ip)))
      continue;
    if (typeof found === 'string') notes.push(`${sandbox.id}: nothing of it passes: ${found}`);
    else pins.push(found);
  }
  return { members: { ports: ports.map(({ name }) => name), pins }, notes };
}

/** Its pin, or why it has none; null: it is no concern of this network. */
async function pinOf(
  { container_ip: ip, container_id: id }: RegisteredSandbox,
  { bridge, gateway }: Network,
  ports: readonly BridgePort[],
  docker: DockerReader,
): Promise<Pin | string | null> {
  // Known by a secret, a certificate or a door of its own: no address of it is believed, so none is pinned.
  if (ip === null) return null;
  if (id === null) return `it is registered by its address ${ip} alone; say where it is with --pin ${ip}=MAC@PORT`;
  try {
    const container = await docker.inspectContainer(id);
    const endpoint = await endpointOn(container, bridge, docker);
    if (endpoint === null) return null;
    const address = checkAddress(ip);
    if (address !== endpoint.v4 && address !== endpoint.v6)
      return `Docker gave its container another address than ${ip}`;
    if (!container.State.Running || container.State.Paused) return 'its container does not run';
    const port = await portOfProcess(container.State.Pid, endpoint.mac, ports);
    if (port === null) return `no port of ${bridge} leads to its container`;
    // Its own affair, whether it is the gateway or makes itself look so: the pins of the others are kept in step.
    if (port === gateway.at?.port) return 'its container is at the port of the gateway';
    return { address, mac: endpoint.mac, port };
  } catch (error) {
    if (error instanceof FirewallError || (error instanceof DockerError && error.fault === 'unknown'))
      return error.message;
    throw error;
  }
}
