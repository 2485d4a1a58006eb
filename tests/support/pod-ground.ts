// The network of a Kubernetes pod, made by hand: a namespace with an interface, and on the other side of it the world, which
// notes every packet that arrives. Loopback and documentation addresses alone; nothing of it is in this machine's own network.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './eventually.ts';
import { asUser } from './namespace.ts';
import { type ClientRun, runClient } from './run-client.ts';

export const world4 = '192.0.2.1';
export const world6 = '2001:db8::1';
export const pod4 = '192.0.2.2';

export interface PodGround {
  /** What to put in front of a command so that it runs in the network of the pod. */
  readonly enter: readonly string[];
  /** In the pod, as root with all rights: what an init container is, before its rights are taken. */
  setUp(command: readonly string[], input?: string): Promise<ClientRun>;
  /** A Python program in the pod, as an ordinary user with no right at all. */
  as(uid: number, program: string): Promise<ClientRun>;
  /** The same, without waiting: it ends when its input does. */
  start(uid: number, program: string): ChildProcess;
  /** A Python program on the other side. */
  fromOutside(program: string): Promise<ClientRun>;
  /** What arrived in the world since it was asked the last time: `tcp 443`, `udp 53`, `icmp`, and whole messages. */
  arrived(): Promise<string[]>;
  end(): Promise<void>;
}

/** Notes what comes in by the wire, and serves: TCP 443 says how much it got, UDP 53 answers. */
const worldProgram = `
import socket, threading, sys, os
# In one write: lines of two threads never mix.
def say(*words): os.write(1, (' '.join(map(str, words)) + '\\n').encode())
def sniff():
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    while True:
        data, place = wire.recvfrom(65535)
        if place[2] == socket.PACKET_OUTGOING or place[0] == 'lo': continue
        if place[1] == 0x0800: version, kind, body = 4, data[9], data[(data[0] & 15) * 4:]
        elif place[1] == 0x86dd: version, kind, body = 6, data[6], data[40:]
        else: continue
        # Neighbours, and what the kernel says of itself to its network (MLD, behind a hop-by-hop header).
        if kind == 0 or (kind == 58 and body[0] in (133, 134, 135, 136, 143)): continue
        port = int.from_bytes(body[2:4], 'big')
        if kind == 6 and body[13] & 2: say('packet', version, 'tcp', port)
        elif kind == 17: say('packet', version, 'udp', port, body[8:].decode('latin1'))
        elif kind not in (6, 17): say('packet', version, 'other', kind)
def serve(family):
    server = socket.socket(family); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6: server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    server.bind(('', 443)); server.listen()
    while True:
        client, _ = server.accept()
        total = 0
        while True:
            part = client.recv(65536)
            if not part: break
            total += len(part)
        say('whole', total); client.close()
threading.Thread(target=sniff, daemon=True).start()
for family in (socket.AF_INET, socket.AF_INET6): threading.Thread(target=serve, args=(family,), daemon=True).start()
def answer(family):
    server = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6: server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    server.bind(('', 53))
    while True: server.sendto(b'answer', server.recvfrom(2048)[1])
for family in (socket.AF_INET, socket.AF_INET6): threading.Thread(target=answer, args=(family,), daemon=True).start()
say('ready')
sys.stdin.read()
`;

export async function makePodGround(): Promise<PodGround> {
  const pod = await hold();
  const world = await hold();
  const inPod = ['--target', String(pod.pid), '--net', '--'];
  const inWorld = ['--target', String(world.pid), '--net', '--'];
  const must = async (where: readonly string[], command: string): Promise<void> => {
    const { code, stderr } = await runClient('nsenter', [...where, 'sh', '-ec', command]);
    if (code !== 0) throw new Error(`the network of the pod could not be made: ${stderr}`);
  };
  await must(inPod, `ip link add eth0 type veth peer name out0 netns ${world.pid}; ip link set eth0 up`);
  await must(inPod, `ip address add ${pod4}/24 dev eth0; ip -6 address add 2001:db8::2/64 dev eth0 nodad`);
  await must(inWorld, `ip link set out0 up; ip address add ${world4}/24 dev out0`);
  await must(inWorld, `ip -6 address add ${world6}/64 dev out0 nodad`);
  for (const where of [inPod, inWorld]) await must(where, 'echo "0 2147483647" > /proc/sys/net/ipv4/ping_group_range');
  const watcher = spawn('nsenter', [...inWorld, '/usr/bin/python3', '-c', worldProgram], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let seen = '';
  watcher.stdout.on('data', (chunk: Buffer) => {
    seen += chunk;
  });
  await eventually(() => seen.includes('ready\n'), 'the world is there');
  const python = (uid: number): string[] => [...inPod, ...asUser(uid), '--bounding-set=-all', '/usr/bin/python3', '-c'];
  let marks = 0;
  return {
    enter: ['nsenter', ...inPod],
    setUp: (command, input = '') => runClient('nsenter', [...inPod, ...command], { input }),
    as: (uid, program) => runClient('nsenter', [...python(uid), program]),
    start: (uid, program) => spawn('nsenter', [...python(uid), program], { stdio: ['pipe', 'pipe', 'inherit'] }),
    fromOutside: (program) => runClient('nsenter', [...inWorld, '/usr/bin/python3', '-c', program]),
    async arrived() {
      // A packet of the gateway's user, whose right is not in question: what was sent before it has arrived before it.
      const mark = `mark ${marks++}`;
      const send = `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'${mark}', ('${world4}', 9))`;
      const { code, stderr } = await runClient('nsenter', [...python(10001), send]);
      if (code !== 0) throw new Error(stderr);
      await eventually(() => seen.includes(mark), 'the mark has arrived');
      const lines = seen.split('\n').filter((line) => line !== '' && line !== 'ready' && !line.includes('mark '));
      seen = '';
      return lines;
    },
    async end() {
      for (const child of [watcher, pod.child, world.child]) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
    },
  };
}

async function hold(): Promise<{ pid: number; child: ChildProcess }> {
  const child = spawn('unshare', ['--net', 'sh', '-ec', 'ip link set lo up; echo ready; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return { pid: child.pid!, child };
}
