// An internet for the containers of a Docker world: documentation addresses that exist in its network namespace alone, each
// leading to a server of this process. What listens in there is handed over by a child that ends at once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, Server, type Socket } from 'node:net';
import type { DockerWorld } from './docker-world.ts';
import { runClient } from './run-client.ts';
import { Wire } from './wire.ts';

export interface PretendInternet {
  close(): void;
}

/** Listens, hands over, and lets go: what it still held it could answer. */
const child = `const net = require('node:net');
let left = 0;
for (const address of JSON.parse(process.argv[1])) {
  left += 1;
  const server = net.createServer((socket) => socket.destroy());
  server.listen({ host: address, port: 443, exclusive: true }, () =>
    process.send({ address }, server, {}, () => { server.close(); if (--left === 0) process.disconnect(); }));
}`;

/** `places`: by address, `HOST:PORT` of a server on this machine's loopback that answers there on port 443. */
export async function openInternet(
  world: DockerWorld,
  places: Readonly<Record<string, string>>,
): Promise<PretendInternet> {
  const addresses = Object.keys(places);
  for (const address of addresses) await world.run('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
  const [program, ...words] = [...world.enter, process.execPath, '-e', child, JSON.stringify(addresses)];
  const opener = spawn(program!, words, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  opener.on('message', (message, handle) => {
    const [host, port] = places[(message as { address: string }).address]!.split(':');
    if (!(handle instanceof Server)) return;
    servers.push(handle);
    handle.on('connection', (near) => join(near, connect(Number(port), host), sockets));
  });
  const ended = Promise.all([once(opener, 'exit'), once(opener, 'disconnect')]);
  await ended;
  if (servers.length !== addresses.length) throw new Error('the pretend internet could not be opened');
  return {
    close() {
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function join(near: Socket, far: Socket, sockets: Set<Socket>): void {
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    sockets.add(one);
    one.on('error', () => other.destroy());
    one.on('close', () => {
      sockets.delete(one);
      other.destroy();
    });
    one.pipe(other);
  }
}

const resolver = `const socket = require('node:dgram').createSocket('udp4');
socket.on('message', (query, from) => {
  let name = '', at = 12;
  while (query[at]) { name += query.toString('latin1', at + 1, at + 1 + query[at]) + '.'; at += 1 + query[at]; }
  console.log(name);
  const answer = Buffer.from(query); answer[2] |= 0x80; answer[3] = 3;
  socket.send(answer, from.port, from.address);
});
socket.bind(53, '127.0.0.1', () => console.log('ready'));`;

export interface PretendResolver {
  /** Every name that it was asked for so far. */
  asked(): string;
  end(): void;
}

/** The resolver of the world's host, on its loopback: Docker asks it for containers, if it asks anybody. */
export async function startResolver(world: DockerWorld): Promise<PretendResolver> {
  const file = `${world.folder}/resolv.conf`;
  writeFileSync(file, 'nameserver 127.0.0.1\n');
  await runClient('nsenter', ['--mount', `--target=${world.pid}`, '--', 'mount', '--bind', file, '/etc/resolv.conf']);
  const [program, ...words] = [...world.enter, process.execPath, '-e', resolver];
  const running = spawn(program!, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const wire = new Wire(running.stdout);
  await wire.until('ready');
  return { asked: () => wire.received, end: () => running.kill('SIGKILL') };
}
