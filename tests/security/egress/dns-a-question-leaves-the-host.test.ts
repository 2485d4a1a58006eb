// Names can carry data to whoever answers for their domain. Under a wildcard every such name is allowed: so no question
// may leave the host. Counted by the kernel, in a network namespace where nothing else runs.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const questions = 3000;

interface Seen {
  readonly answered: number;
  readonly asked: number;
  readonly udpSent: number;
  readonly tcpOpened: number;
  readonly notLoopback: number;
  readonly heapGrowth: number;
}

// Both ends in one process, so that what the kernel counts is theirs. The rate is fed by hand, or 3000 would take 30 s.
const program = `
import { readFileSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { attachDns } from '${root}src/stages/accept/dns/dns-door.ts';
import { framed, questionOf } from '${root}tests/support/dns-ground.ts';

let clock = 0;
performance.now = () => (clock += 20);
const row = (name, field) => {
  const [names, values] = readFileSync('/proc/net/snmp', 'utf8').split('\\n').filter((line) => line.startsWith(name + ':'));
  return Number(values.split(' ')[names.split(' ').indexOf(field)]);
};
const udp = createSocket('udp4').bind(53, '127.0.0.1');
const tcp = createServer().listen(53, '127.0.0.1');
const client = createSocket('udp4').bind(0, '127.0.0.1');
await Promise.all([once(udp, 'listening'), once(tcp, 'listening'), once(client, 'listening')]);
let asked = 0;
const door = attachDns({ udp: [udp], tcp }, { lookup: (name) => (asked++, name.endsWith('.corp.example.com')), over: () => null, flooded() {} });
const before = { udp: row('Udp', 'OutDatagrams'), tcp: row('Tcp', 'ActiveOpens') };
let answered = 0;
const ask = async (i) => {
  const data = Buffer.alloc(110, 'payload ' + i).toString('hex');
  const name = [data.slice(0, 60), data.slice(60, 120), data.slice(120, 180), 'corp.example.com'].join('.');
  client.send(questionOf(name, i % 2 ? 'A' : 'AAAA', { edns: i % 3 === 0 }), 53, '127.0.0.1');
  await once(client, 'message');
  answered++;
};
// Once finds what is garbage by now, and not what lets go of it a turn later.
const collect = async () => {
  for (let n = 0; n < 4; n++) {
    await new Promise(setImmediate);
    gc();
  }
};
for (let i = 0; i < 500; i++) await ask(i);
await collect();
const heap = process.memoryUsage().heapUsed;
for (let i = 500; i < ${questions}; i++) await ask(i);
await collect();
const heapGrowth = process.memoryUsage().heapUsed - heap;
const socket = connect(53, '127.0.0.1');
socket.write(framed(questionOf('secret.corp.example.com')));
await once(socket, 'data');
socket.destroy();
const addresses = readFileSync('/proc/net/dev', 'utf8').split('\\n').slice(2).filter((line) => line !== '' && !line.trim().startsWith('lo:'));
const notLoopback = addresses.reduce((sum, line) => sum + Number(line.split(':')[1].trim().split(/\\s+/)[9]), 0);
console.log(JSON.stringify({ answered, asked, udpSent: row('Udp', 'OutDatagrams') - before.udp, tcpOpened: row('Tcp', 'ActiveOpens') - before.tcp, notLoopback, heapGrowth }));
client.close();
door.close();
`;

let folder: string;
let seen: Seen;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-dns-'));
  writeFileSync(join(folder, 'program.ts'), program);
  const bundle = join(folder, 'program.mjs');
  buildSync({
    entryPoints: [join(folder, 'program.ts')],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  const command = `ip link set lo up && exec "$0" --expose-gc "$1"`;
  const output = execFileSync('unshare', ['-U', '-r', '-n', 'sh', '-c', command, process.execPath, bundle], {
    timeout: 60_000,
    encoding: 'utf8',
  });
  seen = JSON.parse(output) as Seen;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('data in names goes nowhere', () => {
  test('every question was answered, so the door was really at work', () => {
    expect(seen.answered).toBe(questions);
    expect(seen.asked).toBe(questions + 1);
  });

  test('the kernel saw the questions and their answers, and not one datagram or connection more', () => {
    expect(seen.udpSent).toBe(2 * questions);
    expect(seen.tcpOpened).toBe(1);
    expect(seen.notLoopback).toBe(0);
  });

  test('nothing of them is kept', () => {
    // 2500 names of 200 bytes would be half a megabyte, and much more with what stands around them.
    expect(seen.heapGrowth).toBeLessThan(300_000);
  });
});
