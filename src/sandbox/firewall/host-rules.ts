// The rules of the host, for what left the bridge: its own services, what it would route, and what it sends to sandboxes.
// A second wall behind that of the bridge; only traffic of this one network is looked at, but for one rule on frames.
import type { FirewallPlan } from './firewall-plan.ts';
import { accept, type Chain, drop, portSet, type Rule, rule } from './rule.ts';

const neighbourTalk = 'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert }';

export function hostChains(plan: FirewallPlan): readonly Chain[] {
  return [
    {
      name: 'past_the_bridge',
      hook: 'type filter hook prerouting priority raw; policy accept;',
      rules: pastTheBridge(),
    },
    ...(plan.redirect === null
      ? []
      : [
          {
            name: 'to_gateway',
            hook: 'type nat hook prerouting priority dstnat; policy accept;',
            rules: redirect(plan),
          },
        ]),
    { name: 'to_host', hook: 'type filter hook input priority filter; policy accept;', rules: toHost(plan) },
    {
      name: 'through_host',
      hook: 'type filter hook forward priority filter; policy accept;',
      rules: throughHost(plan),
    },
    { name: 'from_host', hook: 'type filter hook output priority filter; policy accept;', rules: fromHost(plan) },
  ];
}

/**
 * A bridge hands frames to the group of LLDP straight to the host, past all its own hooks, as if they had come in by an
 * interface of the host. Nobody else sends IP to these groups (IEEE 802.1D, 7.12.6): refused wherever it comes from.
 */
function pastTheBridge(): Rule[] {
  return [
    drop(
      'meta iiftype ether ether daddr & ff:ff:ff:ff:ff:f0 == 01:80:c2:00:00:00',
      'IP in a frame that no bridge filters',
    ),
  ];
}

function redirect({ bridge, gateway, redirect: led }: FirewallPlan): Rule[] {
  const family = (ip: 'ip' | 'ip6', address: string, word: string): Rule[] => {
    const from = `iifname "${bridge}" ${ip} daddr != ${address}`;
    return [
      ...(led!.tcpPorts.length === 0
        ? []
        : [
            rule(
              `${from} tcp dport ${portSet(led!.tcpPorts)}`,
              `dnat ${ip} to ${address}`,
              `${word}: TCP led to the gateway`,
            ),
          ]),
      ...(led!.udpPorts.length === 0
        ? []
        : [
            rule(
              `${from} udp dport ${portSet(led!.udpPorts)}`,
              `dnat ${ip} to ${address}`,
              `${word}: UDP led to the gateway`,
            ),
          ]),
    ];
  };
  const { v4, v6 } = gateway;
  return [...(v4 === null ? [] : family('ip', v4, 'IPv4')), ...(v6 === null ? [] : family('ip6', v6, 'IPv6'))];
}

function toHost({ bridge, gateway, tcpPorts, udpPorts }: FirewallPlan): Rule[] {
  const { v4, v6, at } = gateway;
  const family = (ip: 'ip' | 'ip6', address: string, pairs: string, word: string): Rule[] => {
    // A frame to everybody is not how one speaks to the gateway: TCP would not take it, DNS must not.
    const known = `meta pkttype host ether saddr . ${ip} saddr @${pairs} ${ip} daddr ${address}`;
    return [
      accept(`${known} tcp dport ${portSet(tcpPorts)}`, `host: TCP to the gateway, ${word}`),
      ...(udpPorts.length === 0
        ? []
        : [accept(`${known} udp dport ${portSet(udpPorts)}`, `host: UDP to the gateway, ${word}`)]),
    ];
  };
  return [
    // Only the bridge leads to a sandbox: its address from anywhere else is a lie.
    ...(at === null && v4 !== null
      ? [drop(`iifname != "${bridge}" ip saddr @addresses4`, 'host: from a sandbox, but not by its network, IPv4')]
      : []),
    ...(at === null && v6 !== null
      ? [drop(`iifname != "${bridge}" ip6 saddr @addresses6`, 'host: from a sandbox, but not by its network, IPv6')]
      : []),
    rule(`iifname != "${bridge}"`, 'return', 'not from this network'),
    ...(at === null && v4 !== null ? family('ip', v4, 'pairs4', 'IPv4') : []),
    ...(at === null && v6 !== null
      ? [accept(neighbourTalk, 'host: neighbours'), ...family('ip6', v6, 'pairs6', 'IPv6')]
      : []),
    drop('', 'host: its own services'),
  ];
}

/**
 * Where br_netfilter is on, frames that are only bridged come by here too, in and out by the bridge: those between sandboxes
 * and a gateway on the bridge are judged there. With the gateway on the host, nothing at all has business here.
 */
function throughHost({ bridge, gateway }: FirewallPlan): Rule[] {
  const butBridged = (word: string): string => (gateway.at === null ? '' : ` ${word} != "${bridge}"`);
  return [
    drop(`iifname "${bridge}"${butBridged('oifname')}`, 'out of this network through the host'),
    drop(`oifname "${bridge}"${butBridged('iifname')}`, 'into this network through the host'),
  ];
}

function fromHost({ bridge, gateway }: FirewallPlan): Rule[] {
  const isHost = gateway.at === null;
  const elsewhere = `oifname != "${bridge}"`;
  return [
    // While the bridge is down, the default route would lead the answers of the gateway out of this host.
    ...(isHost && gateway.v4 !== null
      ? [drop(`${elsewhere} ip daddr @addresses4`, 'host: to a sandbox, but not by its network, IPv4')]
      : []),
    ...(isHost && gateway.v6 !== null
      ? [drop(`${elsewhere} ip6 daddr @addresses6`, 'host: to a sandbox, but not by its network, IPv6')]
      : []),
    rule(elsewhere, 'return', 'not to this network'),
    ...(isHost ? [accept('ct state established', 'host: answers of the gateway')] : []),
    ...(isHost && gateway.v6 !== null ? [accept(neighbourTalk, 'host: asks for neighbours')] : []),
    drop('', 'host: begins nothing with a sandbox'),
  ];
}
