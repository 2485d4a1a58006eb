import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { ReservedPorts } from '../../../../src/gateway/ports/reserved-ports.ts';
import { holdersOf, tcpListeners } from '../../../../src/kit/process/tcp-listeners.ts';

const quiet = { listeners: () => [], judge: () => null, dockerPorts: () => new Map<number, string>() };

test('what this gateway listens on is reserved, where loopback reaches it, and free again afterwards', () => {
  const ports = new ReservedPorts(quiet);
  ports.note('127.0.0.1:8080', 'a door');
  ports.note('0.0.0.0:8081', 'a door');
  ports.note('[::]:8082', 'a door');
  ports.note('172.30.0.2:8083', 'a door');
  for (const port of [8080, 8081, 8082]) expect(ports.whyNot(port)).toBe('it is a door of this gateway');
  for (const port of [8083, 5432]) expect(ports.whyNot(port)).toBeNull();
  ports.forget('127.0.0.1:8080');
  expect(ports.whyNot(8080)).toBeNull();
});

test('whoever dials what a sandbox has published is known, by any address of loopback', () => {
  const ports = new ReservedPorts(quiet);
  ports.notePublished('127.0.0.1:3000');
  ports.notePublished('192.0.2.7:3001');
  for (const address of ['127.0.0.1', '127.0.0.2', '::1', '0.0.0.0']) {
    expect(ports.isPublished(address, 3000)).toBe(true);
    expect(ports.isPublished(address, 3002)).toBe(false);
  }
  expect(ports.isPublished('192.0.2.7', 3001)).toBe(true);
  expect(ports.isPublished('192.0.2.8', 3001)).toBe(false);
  expect(ports.whyNot(3000)).toContain('published');
  ports.forget('127.0.0.1:3000');
  expect(ports.isPublished('127.0.0.1', 3000)).toBe(false);
});

test('the API of Docker is reserved, whoever else is asked', () => {
  const ports = new ReservedPorts({ ...quiet, dockerPorts: () => new Map([[2375, 'the API of Docker']]) });
  expect(ports.whyNot(2375)).toBe('it is the API of Docker');
  expect(ports.whyNot(2374)).toBeNull();
  expect(new ReservedPorts().whyNot(2375)).toContain('Docker');
});

test('another listener is judged once, and again when another socket listens there', () => {
  let inode = '1';
  const judged: string[] = [];
  const ports = new ReservedPorts({
    ...quiet,
    listeners: () => [
      { address: '127.0.0.1', port: 5432, inode },
      { address: '192.0.2.1', port: 6379, inode: '9' },
    ],
    judge: (inodes) => {
      judged.push([...inodes].join());
      return inodes.has('2') ? 'it is a port of another gateway' : null;
    },
  });
  expect(ports.whyNot(5432)).toBeNull();
  expect(ports.whyNot(5432)).toBeNull();
  expect(ports.whyNot(6379)).toBeNull();
  inode = '2';
  expect(ports.whyNot(5432)).toBe('it is a port of another gateway');
  expect(judged).toEqual(['1', '2']);
});

test('who listens is read from the kernel, with the process that holds it', async () => {
  const server = createServer().listen(0, '::1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const found = tcpListeners().filter((one) => one.port === port);
  expect(found).toMatchObject([{ address: '::1', port }]);
  expect(holdersOf(new Set(found.map(({ inode }) => inode)))).toContain(process.pid);
  expect(new ReservedPorts().whyNot(port)).toBeNull();
  server.close();
  expect(tcpListeners(2 ** 30)).toEqual([]);
});

test('a process that also listens on an admin socket is another gateway', async () => {
  const script = `
    const net = require('node:net');
    net.createServer().listen(process.argv[1] + '/admin.sock', () => {
      const tcp = net.createServer().listen(0, '127.0.0.1', () => console.log(tcp.address().port));
    });`;
  const { mkdtempSync, rmSync } = await import('node:fs');
  const folder = mkdtempSync('/tmp/sallyport-pretend-');
  const child = spawn(process.execPath, ['-e', script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    expect(new ReservedPorts().whyNot(Number(line))).toBe('it is a port of another gateway');
  } finally {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});
