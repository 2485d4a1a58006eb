// A sandbox network without Docker: a namespace for the host with a bridge, one for each sandbox, one for a gateway on the
// bridge and one for the world outside, joined by veth pairs. Nothing of it is in the machine's own network, and all of it
// is gone with `end`. Whatever arrives anywhere is told by listeners that print it; nothing is concluded from a silence.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { FirewallPlan, Members } from '../../src/sandbox/firewall/firewall-plan.ts';
import { writeRuleset } from '../../src/sandbox/firewall/ruleset.ts';
import { eventually } from './eventually.ts';
import { type ClientOptions, type ClientRun, runClient } from './run-client.ts';

export const bridge = 'br-5a11y';
export const table = 'sallyport_br_5a11y';

/** Everyone on the sandbox network, and the outside. `port` is the end of the cable that is in the bridge. */
export const seats = {
  hostSide: { v4: '192.0.2.1', v6: '2001:db8:77::1', mac: '02:00:00:00:00:01', port: '' },
  gateway: { v4: '192.0.2.2', v6: '2001:db8:77::2', mac: '02:00:00:00:00:02', port: 'pgw' },
  a: { v4: '192.0.2.10', v6: '2001:db8:77::a', mac: '02:00:00:00:00:0a', port: 'pa' },
  b: { v4: '192.0.2.11', v6: '2001:db8:77::b', mac: '02:00:00:00:00:0b', port: 'pb' },
  /** Plugged in, and never registered. */
  c: { v4: '192.0.2.12', v6: '2001:db8:77::c', mac: '02:00:00:00:00:0c', port: 'pc' },
} as const;
export const outside = { v4: '198.51.100.7', v6: '2001:db8:99::7', hostV4: '198.51.100.1', hostV6: '2001:db8:99::1' };

export type Place = 'host' | 'gateway' | 'a' | 'b' | 'c' | 'outside';

export interface FirewallGround {
  readonly pids: Readonly<Record<Place, number>>;
  run(place: Place, command: readonly string[], options?: ClientOptions): Promise<ClientRun>;
  /** Puts a frame on the cable of a place, as a program with a raw socket would. */
  send(place: Exclude<Place, 'host'>, frame: Buffer): void;
  /** What has arrived at the listeners of a place so far, a line each: `udp 53 text`, `tcp 80 text`, `frame HEX`. */
  arrived(place: Place): string;
  load(text: string): Promise<void>;
  /** No rules, and everybody known by the bridge where they are: whatever an attack has spoiled is forgotten. */
  reset(): Promise<void>;
  /** Deletes exactly one rule of ours, told by its comment. */
  removeRule(family: 'bridge' | 'inet', comment: string): Promise<void>;
  /** How many packets a rule has met. */
  count(family: 'bridge' | 'inet', comment: string): Promise<number>;
  end(): Promise<void>;
}

const listener = `
import socket, threading, sys
lock = threading.Lock()
def tell(*words):
    with lock:
        print(*words, flush=True)
def udp(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(('::', port))
    while True:
        data, peer = s.recvfrom(2048)
        tell('udp', port, data.decode('latin1'))
        try: s.sendto(b'answer ' + data, peer)
        except OSError: pass # a rule refuses the answer: what came is told already
def tcp(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('::', port)); s.listen(20)
    while True:
        c, peer = s.accept()
        tell('tcp', port, 'connected')
        c.settimeout(2)
        try:
            data = c.recv(2048); tell('tcp', port, data.decode('latin1')); c.sendall(b'answer ' + data)
        except OSError: pass
        c.close()
def frames(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((name, 0))
    while True:
        data, where = s.recvfrom(2048)
        if where[2] != 4: tell('frame', data.hex())
for port in (53, 80, 443, 8022):
    threading.Thread(target=udp, args=(port,), daemon=True).start()
    threading.Thread(target=tcp, args=(port,), daemon=True).start()
if len(sys.argv) > 1: threading.Thread(target=frames, args=(sys.argv[1],), daemon=True).start()
raw = None
if len(sys.argv) > 1:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); raw.bind((sys.argv[1], 0))
tell('listening')
for line in sys.stdin:
    raw.send(bytes.fromhex(line.strip())); tell('sent')
`;

export async function makeFirewallGround(): Promise<FirewallGround> {
  const holders = new Map<Place, Holder>();
  const places: readonly Place[] = ['host', 'gateway', 'a', 'b', 'c', 'outside'];
  for (const place of places) holders.set(place, await hold());
  const pid = (place: Place): number => holders.get(place)!.pid;
  const run: FirewallGround['run'] = (place, command, options) =>
    runClient('nsenter', [`--target=${pid(place)}`, '--net', '--', ...command], { timeoutMs: 50_000, ...options });
  const must = async (place: Place, script: string): Promise<void> => {
    const { code, stderr } = await run(place, ['sh', '-e', '-c', script]);
    if (code !== 0) throw new Error(`${place}: ${stderr}`);
  };
  const end = async (): Promise<void> => {
    await Promise.all([...holders.values()].map((holder) => holder.end()));
  };
  try {
    await must('host', hostScript(pid));
    await Promise.all(places.filter((place) => place !== 'host').map((place) => must(place, seatScript(place))));
    for (const place of places) {
      const sniff = place === 'host' ? [] : ['eth0'];
      await holders.get(place)!.listen(['python3', '-c', listener, ...sniff]);
    }
  } catch (error) {
    await end();
    throw error;
  }
  const rules = async (
    family: string,
  ): Promise<{ handle: number; chain: string; comment: string; packets: number }[]> => {
    const { stdout } = await run('host', ['nft', '--json', 'list', 'table', family, table]);
    const { nftables } = JSON.parse(stdout) as { nftables: { rule?: JsonRule }[] };
    return nftables.flatMap(({ rule }) => {
      if (rule === undefined) return [];
      const counter = rule.expr.find((part) => part.counter !== undefined)?.counter;
      return [{ handle: rule.handle, chain: rule.chain, comment: rule.comment ?? '', packets: counter?.packets ?? 0 }];
    });
  };
  const find = async (family: string, comment: string) => {
    const found = (await rules(family)).filter((rule) => rule.comment === comment);
    if (found.length !== 1) throw new Error(`${found.length} rules of table ${family} say: ${comment}`);
    return found[0]!;
  };
  return {
    pids: Object.fromEntries(places.map((place) => [place, pid(place)])) as Record<Place, number>,
    run,
    arrived: (place) => holders.get(place)!.heard(),
    send: (place, frame) => holders.get(place)!.write(`${frame.toString('hex')}\n`),
    async reset() {
      await must('host', 'nft flush ruleset; ip neighbour flush all; ip -6 neighbour flush all');
      const mark = Buffer.from(`here ${performance.now()}`).toString('hex');
      for (const place of ['gateway', 'a', 'b', 'c'] as const) {
        await must(place, 'ip neighbour flush all; ip -6 neighbour flush all');
        holders.get(place)!.write(`ffffffffffff${seats[place].mac.replaceAll(':', '')}88b5${mark}\n`);
      }
      // Everybody has heard the three others: the bridge has seen all of them, at the ports where they are.
      const others = (place: Place): number => holders.get(place)!.heard().split(mark).length - 1;
      await eventually(
        () => (['gateway', 'a', 'b', 'c'] as const).every((place) => others(place) === 3),
        'all are known',
      );
    },
    async load(text) {
      const { code, stderr } = await run('host', ['nft', '-f', '-'], { input: text });
      if (code !== 0) throw new Error(stderr);
    },
    async removeRule(family, comment) {
      const { handle, chain } = await find(family, comment);
      await must('host', `nft delete rule ${family} ${table} ${chain} handle ${handle}`);
    },
    count: async (family, comment) => (await find(family, comment)).packets,
    end,
  };
}

interface JsonRule {
  readonly handle: number;
  readonly chain: string;
  readonly comment?: string;
  readonly expr: readonly { readonly counter?: { readonly packets: number } }[];
}

/** The gateway on the bridge as a container would be, or on the host; A and B registered. */
export function groundRuleset(
  where: 'bridge' | 'host',
  more: Partial<FirewallPlan> = {},
  members: Partial<Members> = {},
) {
  const { gateway, hostSide, a, b } = seats;
  const { v4, v6 } = where === 'host' ? hostSide : gateway;
  const at = where === 'host' ? null : { port: gateway.port, mac: gateway.mac };
  const pins = [a, b].flatMap(({ v4, v6, mac, port }) => [v4, v6].map((address) => ({ address, mac, port })));
  return writeRuleset(
    {
      bridge,
      gateway: { v4, v6, at },
      tcpPorts: [53, 80, 443],
      udpPorts: [53],
      redirect: null,
      seesBridge: false,
      ...more,
    },
    { ports: ['pa', 'pb', 'pc', 'pgw'], pins, ...members },
  );
}

function hostScript(pid: (place: Place) => number): string {
  const { hostSide, gateway, a, b, c } = seats;
  const cables = { gateway, a, b, c };
  return [
    'ip link set lo up',
    'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding',
    // What the filter refuses must not be refused by chance as well.
    'echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter; echo 0 > /proc/sys/net/ipv4/conf/default/rp_filter',
    `ip link add ${bridge} address ${hostSide.mac} type bridge`,
    `ip link set ${bridge} up`,
    unlocked(bridge),
    `ip address add ${hostSide.v4}/24 dev ${bridge}; ip address add ${hostSide.v6}/64 dev ${bridge} nodad`,
    ...Object.entries(cables).map(
      ([place, { port, mac }]) =>
        `ip link add ${port} type veth peer name eth0 address ${mac} netns ${pid(place as Place)}; ip link set ${port} master ${bridge} up`,
    ),
    `ip link add out0 type veth peer name eth0 netns ${pid('outside')}; ip link set out0 up`,
    `ip address add ${outside.hostV4}/24 dev out0; ip address add ${outside.hostV6}/64 dev out0 nodad`,
  ].join('\n');
}

/** A neighbour that was just learned is believed for a second, whoever says otherwise: no attack is to fail for that reason. */
function unlocked(device: string): string {
  return `echo 0 > /proc/sys/net/ipv4/neigh/${device}/locktime`;
}

function seatScript(place: Exclude<Place, 'host'>): string {
  const { v4, v6 } = place === 'outside' ? outside : seats[place];
  const via = place === 'outside' ? { v4: outside.hostV4, v6: outside.hostV6 } : seats.hostSide;
  return [
    // Neither asked for nor wanted: it would be counted with the attacks.
    'echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_ra; echo 0 > /proc/sys/net/ipv6/conf/eth0/router_solicitations',
    'ip link set lo up; ip link set eth0 up',
    unlocked('eth0'),
    `ip address add ${v4}/24 dev eth0; ip address add ${v6}/64 dev eth0 nodad`,
    `ip route add default via ${via.v4}; ip -6 route add default via ${via.v6}`,
  ].join('\n');
}

interface Holder {
  readonly pid: number;
  write(line: string): void;
  listen(command: readonly string[]): Promise<void>;
  heard(): string;
  end(): Promise<void>;
}

/** A network namespace of its own; it ends with its input, so with this process, whatever becomes of that. */
async function hold(): Promise<Holder> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  const ended = [once(holder, 'exit')];
  const children = [holder];
  let heard = '';
  return {
    pid: holder.pid!,
    heard: () => heard,
    write: (line) => children.at(-1)!.stdin.write(line),
    async listen([program, ...args]) {
      const child = spawn('nsenter', [`--target=${holder.pid}`, '--net', '--', program!, ...args], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      ended.push(once(child, 'exit'));
      children.push(child);
      child.stdout.on('data', (chunk: Buffer) => {
        heard += chunk;
      });
      await eventually(() => heard.includes('listening'), 'the listeners are ready');
    },
    async end() {
      // Listeners first, in all places, before the cables go with the namespaces.
      for (const child of children.toReversed()) child.kill('SIGKILL');
      await Promise.all(ended);
    },
  };
}
