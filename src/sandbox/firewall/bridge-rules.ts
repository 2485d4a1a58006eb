// The rules of the bridge itself, where a frame still has its MAC and the port it came in by: nobody speaks in another's
// name, and only to the gateway. What is let through is named exactly; whatever a rule cannot read is not let through.
import type { FirewallPlan } from './firewall-plan.ts';
import { asHex } from './pin.ts';
import { accept, type Chain, drop, portSet, type Rule, rule } from './rule.ts';

/** No options, no fragment: the ports are where they are looked for, and nothing is put together later. */
const wholeV4 = 'ip hdrlength 5 ip frag-off & 0x3fff == 0';
/** Neighbour advertisement with the target's own MAC as its only option. */
const wholeAdvert = 'ip6 nexthdr ipv6-icmp icmpv6 type nd-neighbor-advert ip6 length 32 @th,192,16 0x0201';
const neighbourTalk = 'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert }';
const isAnswer = 'tcp flags & (syn | ack) != syn';

export function bridgeChains(plan: FirewallPlan): readonly Chain[] {
  const { gateway } = plan;
  return [
    { name: 'sandbox_arp', hook: null, rules: sandboxArp(plan) },
    { name: 'sandbox_ip4', hook: null, rules: sandboxIp4(plan) },
    { name: 'sandbox_ip6', hook: null, rules: sandboxIp6(plan) },
    ...(gateway.at === null ? [] : [{ name: 'gateway_sends', hook: null, rules: gatewaySends(plan) }]),
    { name: 'from_port', hook: 'type filter hook prerouting priority filter; policy accept;', rules: fromPort(plan) },
    {
      name: 'between_ports',
      hook: 'type filter hook forward priority filter; policy accept;',
      rules: betweenPorts(plan),
    },
    { name: 'from_host', hook: 'type filter hook output priority filter; policy accept;', rules: fromHost(plan) },
  ];
}

function fromPort(plan: FirewallPlan): Rule[] {
  const { gateway } = plan;
  return [
    ...fromUnknownPort(plan),
    rule('iifname != @ports', 'return', 'not from a port of this network'),
    ...(gateway.at === null ? [] : [rule(`iifname "${gateway.at.port}"`, 'goto gateway_sends', 'the gateway')]),
    rule('ether type arp', 'goto sandbox_arp', 'ARP of a sandbox'),
    rule('ether type ip', 'goto sandbox_ip4', 'IPv4 of a sandbox'),
    ...(gateway.v6 === null ? [] : [rule('ether type ip6', 'goto sandbox_ip6', 'IPv6 of a sandbox')]),
    drop('', gateway.v6 === null ? 'neither ARP nor IPv4: no IPv6 here' : 'neither ARP nor IP'),
  ];
}

/**
 * A port that the members do not name is of another network, or was plugged in a moment ago. Where the kernel cannot tell
 * which, whoever is there is left alone, but never taken for one of the members: neither by what it sends nor by what the
 * bridge would learn from it. A tag of 802.1Q does not hide a frame from `meta protocol`, as it does from `ether type`.
 */
function fromUnknownPort({ bridge, gateway: { v4, v6 }, seesBridge }: FirewallPlan): Rule[] {
  if (seesBridge) {
    return [drop(`meta ibrname "${bridge}" iifname != @ports`, 'from a port of the bridge that is not known yet')];
  }
  return [
    drop('iifname != @ports ether saddr @macs', 'unknown port: with the MAC of another'),
    ...(v4 === null
      ? []
      : [
          drop('iifname != @ports ip saddr @addresses4', 'unknown port: with the IPv4 address of another'),
          drop('iifname != @ports meta protocol arp @nh,112,32 @senders4', 'unknown port: ARP in the name of another'),
        ]),
    ...(v6 === null
      ? []
      : [
          drop('iifname != @ports ip6 saddr @addresses6', 'unknown port: with the IPv6 address of another'),
          drop(
            'iifname != @ports meta protocol ip6 meta l4proto ipv6-icmp @th,0,8 136 @th,64,128 @targets6',
            'unknown port: advertises the IPv6 address of another',
          ),
        ]),
  ];
}

/** The same for what the host sends: the bridge may have been told, past its filters, that a member is at such a port. */
function toUnknownPort({ bridge, gateway: { v4, v6 }, seesBridge }: FirewallPlan): Rule[] {
  if (seesBridge) {
    return [drop(`meta obrname "${bridge}" oifname != @ports`, 'host: by a port of the bridge that is not known yet')];
  }
  return [
    drop('oifname != @ports ether daddr @macs', 'host: to the MAC of a sandbox by an unknown port'),
    ...(v4 === null
      ? []
      : [drop('oifname != @ports ip daddr @addresses4', 'host: to the IPv4 address of a sandbox by an unknown port')]),
    ...(v6 === null
      ? []
      : [drop('oifname != @ports ip6 daddr @addresses6', 'host: to the IPv6 address of a sandbox by an unknown port')]),
  ];
}

/** Guards against ARP spoofing: of the gateway, of another sandbox, or of anybody it might ask for. */
function sandboxArp({ gateway }: FirewallPlan): Rule[] {
  if (gateway.v4 === null) return [drop('', 'ARP: no IPv4 here')];
  return [
    drop(
      'iifname . ether saddr . arp saddr ip != @pins4',
      'ARP: the sender is not registered with this address on this port',
    ),
    drop('iifname . arp saddr ether . arp saddr ip != @pins4', 'ARP: it gives a MAC that is not its own'),
    drop(`arp daddr ip != ${gateway.v4}`, 'ARP: about another than the gateway'),
    accept('arp htype 1 arp ptype ip arp hlen 6 arp plen 4 arp operation { request, reply }', 'ARP: with the gateway'),
    drop('', 'ARP: of another kind'),
  ];
}

function sandboxIp4({ gateway, tcpPorts, udpPorts, redirect }: FirewallPlan): Rule[] {
  if (gateway.v4 === null) return [drop('', 'IPv4: none here')];
  return [
    drop('iifname . ether saddr . ip saddr != @pins4', 'IPv4: the source is not registered with this MAC on this port'),
    ...(redirect === null
      ? []
      : [
          ...(redirect.tcpPorts.length === 0
            ? []
            : [accept(`${wholeV4} tcp dport ${portSet(redirect.tcpPorts)}`, 'IPv4: TCP led to the gateway')]),
          ...(redirect.udpPorts.length === 0
            ? []
            : [accept(`${wholeV4} udp dport ${portSet(redirect.udpPorts)}`, 'IPv4: UDP led to the gateway')]),
        ]),
    drop(`ip daddr != ${gateway.v4}`, 'IPv4: to another than the gateway'),
    accept(`${wholeV4} tcp dport ${portSet(tcpPorts)}`, 'IPv4: TCP to the gateway'),
    ...(udpPorts.length === 0 ? [] : [accept(`${wholeV4} udp dport ${portSet(udpPorts)}`, 'IPv4: UDP to the gateway')]),
    drop('', 'IPv4: not a port of the gateway'),
  ];
}

function sandboxIp6({ gateway, tcpPorts, udpPorts, redirect }: FirewallPlan): Rule[] {
  if (gateway.v6 === null) return [drop('', 'IPv6: none here')];
  const led = redirect ?? { tcpPorts: [], udpPorts: [] };
  return [
    drop(
      'iifname . ether saddr . ip6 saddr != @pins6',
      'IPv6: the source is not registered with this MAC on this port',
    ),
    accept(
      `ip6 nexthdr ipv6-icmp icmpv6 type nd-neighbor-solicit @th,64,128 ${asHex(gateway.v6)}`,
      'IPv6: asks for the gateway',
    ),
    accept(`${wholeAdvert} iifname . @th,208,48 . @th,64,128 @claims6`, 'IPv6: tells its own MAC'),
    drop('ip6 nexthdr ipv6-icmp', 'IPv6: claims or asks for what is not its own'),
    ...(led.tcpPorts.length === 0
      ? []
      : [accept(`ip6 nexthdr tcp tcp dport ${portSet(led.tcpPorts)}`, 'IPv6: TCP led to the gateway')]),
    ...(led.udpPorts.length === 0
      ? []
      : [accept(`ip6 nexthdr udp udp dport ${portSet(led.udpPorts)}`, 'IPv6: UDP led to the gateway')]),
    drop(`ip6 daddr != ${gateway.v6}`, 'IPv6: to another than the gateway'),
    accept(`ip6 nexthdr tcp tcp dport ${portSet(tcpPorts)}`, 'IPv6: TCP to the gateway'),
    ...(udpPorts.length === 0
      ? []
      : [accept(`ip6 nexthdr udp udp dport ${portSet(udpPorts)}`, 'IPv6: UDP to the gateway')]),
    drop('', 'IPv6: not a port of the gateway'),
  ];
}

/** What a gateway in a container says on this network: answers. Its own way out is another network. */
function gatewaySends({ gateway, tcpPorts, udpPorts }: FirewallPlan): Rule[] {
  const { v4, v6, at } = gateway;
  const mac = at!.mac;
  const answers = (family: 'ip' | 'ip6', address: string, word: string): Rule[] => [
    accept(
      `${family} saddr ${address} tcp sport ${portSet(tcpPorts)} ${isAnswer}`,
      `gateway: answers over TCP, ${word}`,
    ),
    ...(udpPorts.length === 0
      ? []
      : [accept(`${family} saddr ${address} udp sport ${portSet(udpPorts)}`, `gateway: answers over UDP, ${word}`)]),
  ];
  return [
    drop(`ether saddr != ${mac}`, 'gateway: not with its MAC'),
    ...(v4 === null
      ? []
      : [accept(`arp saddr ether ${mac} arp saddr ip ${v4}`, 'gateway: ARP'), ...answers('ip', v4, 'IPv4')]),
    ...(v6 === null
      ? []
      : [accept(`ether type ip6 ${neighbourTalk}`, 'gateway: neighbours'), ...answers('ip6', v6, 'IPv6')]),
    drop('', 'gateway: begins nothing with a sandbox'),
  ];
}

function betweenPorts({ gateway }: FirewallPlan): Rule[] {
  const { v4, v6, at } = gateway;
  const own = [
    drop('iifname @ports', 'from a sandbox to another port than that of the gateway'),
    drop('oifname @ports', 'to this network from a port that is not known'),
  ];
  if (at === null) return own;
  const fromGateway = `iifname "${at.port}"`;
  return [
    accept(`iifname @ports oifname "${at.port}"`, 'to the port of the gateway'),
    ...(v4 === null
      ? []
      : [
          accept(`${fromGateway} oifname . ether daddr . ip daddr @pins4`, 'answers to a registered sandbox, IPv4'),
          accept(`${fromGateway} oifname @ports ether type arp`, 'ARP of the gateway'),
        ]),
    ...(v6 === null
      ? []
      : [
          accept(`${fromGateway} oifname . ether daddr . ip6 daddr @pins6`, 'answers to a registered sandbox, IPv6'),
          accept(`${fromGateway} oifname @ports ether type ip6 ${neighbourTalk}`, 'neighbours of the gateway'),
        ]),
    ...own,
  ];
}

/** Where the gateway is on the host, this is where its answers leave; elsewhere the host has nothing to say here. */
function fromHost(plan: FirewallPlan): Rule[] {
  const { v4, v6, at } = plan.gateway;
  const isHost = at === null;
  return [
    ...toUnknownPort(plan),
    rule('oifname != @ports', 'return', 'not to a port of this network'),
    ...(isHost && v4 !== null
      ? [
          accept('oifname . ether daddr . ip daddr @pins4', 'host: to a registered sandbox, IPv4'),
          accept(`ether type arp arp saddr ip ${v4}`, 'host: ARP of the gateway'),
        ]
      : []),
    ...(isHost && v6 !== null
      ? [
          accept('oifname . ether daddr . ip6 daddr @pins6', 'host: to a registered sandbox, IPv6'),
          accept(`ether type ip6 ${neighbourTalk}`, 'host: neighbours of the gateway'),
        ]
      : []),
    drop('', 'host: to somebody on this network who is not registered'),
  ];
}
