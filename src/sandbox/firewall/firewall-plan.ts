// What a ruleset is made from: the network, the gateway and its ports (the plan), and who is on the network at the moment
// (the members). The plan decides the rules, the members only fill sets, so that the rules stand still while members change.

import { createHash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { checkAddress, checkInterface, checkMac, checkPin, FirewallError, type Pin } from './pin.ts';

export interface FirewallPlan {
  readonly bridge: string;
  readonly gateway: FirewallGateway;
  /** Of the gateway: what a sandbox may connect to. */
  readonly tcpPorts: readonly number[];
  readonly udpPorts: readonly number[];
  /** What is led to the gateway whatever address it was sent to; null: nothing is. Only with a gateway on the host. */
  readonly redirect: { readonly tcpPorts: readonly number[]; readonly udpPorts: readonly number[] } | null;
  /** Whether the kernel can tell a bridge by its name where frames come in (CONFIG_NFT_BRIDGE_META). */
  readonly seesBridge: boolean;
}

export interface FirewallGateway {
  readonly v4: string | null;
  readonly v6: string | null;
  /** Where it is plugged in, and its MAC; null: it is on the host, and its address is one of the bridge itself. */
  readonly at: { readonly port: string; readonly mac: string } | null;
}

export interface Members {
  /** Every port of the bridge, that of the gateway included. */
  readonly ports: readonly string[];
  readonly pins: readonly Pin[];
}

/** Both in one spelling and one order, so that the same network gives the same text. */
export function checkPlan(plan: FirewallPlan): FirewallPlan {
  const { v4, v6, at } = plan.gateway;
  if (v4 === null && v6 === null) {
    throw new FirewallError('no address of the gateway is known', 'Name it with --gateway ADDRESS.');
  }
  if (v4 !== null && !isIPv4(v4)) throw new FirewallError(`${JSON.stringify(v4)} is not an IPv4 address`);
  if (v6 !== null && !isIPv6(v6)) throw new FirewallError(`${JSON.stringify(v6)} is not an IPv6 address`);
  if (plan.tcpPorts.length === 0) {
    throw new FirewallError(
      `the gateway has no port at ${[v4, v6].filter((one) => one !== null).join(' and ')}`,
      'Configure listen.gateway, listen.proxy or listen.mtls for that address, or name the ports with --port.',
    );
  }
  if (plan.redirect !== null && at !== null) {
    throw new FirewallError(
      'only traffic to a gateway on the host can be redirected',
      'The host sees what goes to a container on the bridge only in passing: leave --redirect out.',
    );
  }
  return {
    bridge: checkInterface(plan.bridge),
    gateway: {
      v4,
      v6: v6 === null ? null : checkAddress(v6),
      at: at === null ? null : { port: checkInterface(at.port), mac: checkMac(at.mac) },
    },
    tcpPorts: sortedPorts(plan.tcpPorts),
    udpPorts: sortedPorts(plan.udpPorts),
    redirect:
      plan.redirect === null
        ? null
        : { tcpPorts: sortedPorts(plan.redirect.tcpPorts), udpPorts: sortedPorts(plan.redirect.udpPorts) },
    seesBridge: plan.seesBridge,
  };
}

/** The gateway's port always belongs to the list. A pin that claims the gateway's address, MAC or port does not count. */
export function checkMembers(members: Members, { gateway }: FirewallPlan): Members {
  const pins = members.pins.map(checkPin);
  for (const { address, port } of pins) {
    const taken = address === gateway.v4 || address === gateway.v6 || port === gateway.at?.port;
    if (taken) throw new FirewallError(`${address} on ${port} is the gateway: no sandbox can be pinned to it`);
  }
  const ports = [...members.ports.map(checkInterface), ...(gateway.at === null ? [] : [gateway.at.port])];
  return {
    ports: [...new Set(ports)].sort(),
    pins: [...new Map(pins.map((pin) => [`${pin.port} ${pin.mac} ${pin.address}`, pin])).entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, pin]) => pin),
  };
}

/** Names of tables are words; bridges whose names would become the same word are told apart by a hash. */
export function tableName(bridge: string): string {
  const word = checkInterface(bridge).replace(/[^A-Za-z0-9]/g, '_');
  const plain = /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/.test(bridge);
  return `sallyport_${word}${plain ? '' : `_${createHash('sha256').update(bridge).digest('hex').slice(0, 8)}`}`;
}

function sortedPorts(ports: readonly number[]): number[] {
  for (const port of ports) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new FirewallError(`${port} is not a port`);
  }
  return [...new Set(ports)].sort((a, b) => a - b);
}
