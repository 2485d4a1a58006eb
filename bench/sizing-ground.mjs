// What sizing.mjs stands on: gateways as an operator starts them, a pretend upstream, a load generator and a Redis, each a
// process of its own on loopback, with everything they write in one folder. `end` leaves nothing behind.
import { execFileSync, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildMain, callAdmin, endChild, startGateway } from './built.mjs';

const here = dirname(fileURLToPath(import.meta.url));
export const sandboxes = 32;
export const events = { everyMs: 200, bytes: 200 };

/** As sizing-load.mjs spreads them. */
const addressOf = (index) => `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function openGround({ largeBytes }) {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-sizing-'));
  const children = [];
  const end = async () => {
    await Promise.all(children.map((child) => endChild(child)));
    rmSync(home, { recursive: true, force: true });
  };
  try {
    const main = buildMain(home);
    const certificate = join(home, 'upstream.pem');
    const ports = await startUpstream({ home, certificate, largeBytes, children });
    const load = startLoad(children);
    const start = (name, settings) => openGateway({ home, name, main, certificate, ports, children, ...settings });
    return { load, start, startRedis: () => startRedis(home, children), end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function startUpstream({ home, certificate, largeBytes, children }) {
  const keyFile = join(home, 'upstream.key');
  const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=api.test';
  const names = ['-addext', 'subjectAltName=DNS:api.test,DNS:h2.test', '-keyout', keyFile, '-out', certificate];
  execFileSync('openssl', [...words.split(' '), ...names], { stdio: 'ignore' });
  const [key, cert] = [keyFile, certificate].map((path) => readFileSync(path, 'utf8'));
  const given = { key, cert, largeBytes, eventEveryMs: events.everyMs, eventBytes: events.bytes };
  const env = { PATH: process.env.PATH, SIZING_UPSTREAM: JSON.stringify(given) };
  const child = fork(join(here, 'sizing-upstream.mjs'), { env });
  children.push(child);
  return new Promise((resolve, reject) => child.once('message', resolve).once('exit', reject));
}

/** `begun` is called when the warming up is over and counting begins, `counted` when it ends. */
function startLoad(children) {
  const child = fork(join(here, 'sizing-load.mjs'), { env: { PATH: process.env.PATH } });
  children.push(child);
  return (job, { begun, counted } = {}) =>
    new Promise((resolve, reject) => {
      const onMessage = (message) => {
        if (message.begun) return begun();
        if (message.counted) return counted(message.counted);
        child.off('message', onMessage).off('exit', reject);
        return message.failed === undefined ? resolve(message.result) : reject(new Error(message.failed));
      };
      child.on('message', onMessage).once('exit', reject);
      child.send(job);
    });
}

/** `ca`: the folder of another gateway's CA. `from`: goes on with the state of a gateway of that name that was stopped. */
async function openGateway({
  home,
  name,
  main,
  certificate,
  ports,
  children,
  workers = 1,
  store,
  ca,
  from,
  registered = sandboxes,
}) {
  const state = join(home, from ?? name);
  const keyFile = join(home, 'key');
  writeFileSync(keyFile, 'secret-injected\n', { mode: 0o600 });
  if (ca !== undefined) {
    mkdirSync(state, { mode: 0o700 });
    cpSync(ca, join(state, 'ca'), { recursive: true });
  }
  const config = join(home, `${name}.yaml`);
  const rates = 'requests_per_minute: 600000000, concurrent_requests: 16000';
  const doors = 'connections: 16000, connections_per_second: 16000';
  writeFileSync(
    config,
    `version: 1
listen: { proxy: "127.0.0.1:0", workers: ${workers} }
allow: [{ host: api.test }, { host: h2.test }]
credentials: { bench: { hosts: [api.test, h2.test], inject: { header: x-api-key }, source: { file: "${keyFile}" } } }
limits: { ${rates}, ${doors}, credential: { ${rates} }, gateway: { ${rates}, ${doors} } }
audit: { sandbox_bytes_per_day: 0, keep_days: 0 }
upstream: { resolve: { api.test: "127.0.0.1:${ports.h1}", h2.test: "127.0.0.1:${ports.h2}" }, ca: "${certificate}" }
${store === undefined ? '' : `store: { url: "${store}" }\n`}`,
  );
  const env = { HOME: home, SALLYPORT_HOME: state, SALLYPORT_CONFIG: config };
  const { child, port } = await startGateway(main, env);
  children.push(child);
  const admin = openAdmin(join(state, 'run', 'admin.sock'));
  if (from === undefined && ca === undefined)
    for (let i = 0; i < registered; i++) await admin('POST', '', { container_ip: addressOf(i) });
  const processes = () => [child.pid, ...childrenOf(child.pid)];
  return {
    port,
    admin,
    target: { port, ca: readFileSync(join(state, 'ca', 'ca.pem'), 'utf8'), sandboxes: registered },
    caFolder: join(state, 'ca'),
    cpu: () => processes().reduce((sum, pid) => sum + cpuMicroseconds(pid), 0),
    cpuOfFirst: () => cpuMicroseconds(child.pid),
    memory: () => processes().map(residentBytes),
    descriptors: () => processes().map((pid) => readdirSync(`/proc/${pid}/fd`).length),
    journalBytes: () => sizeOf(join(state, 'journal')),
    /** Of a gateway that was stopped: as if so many like this one were registered. */
    multiplyRegistered: (id, count) => multiplyRegistered(join(state, 'registry.json'), id, count),
    stop: () => endChild(child),
  };
}

/** Calls of /internal/containers. */
function openAdmin(socketPath) {
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  return (method, rest, body) => callAdmin(socketPath, method, `/internal/containers${rest}`, body, agent);
}

/** Null where there is no redis-server. Writes each change to disk once a second, as docs/store.md advises. */
async function startRedis(home, children) {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const port = probe.address().port;
  await new Promise((resolve) => probe.close(resolve));
  const dir = join(home, 'redis');
  mkdirSync(dir);
  const words = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir, '--save', '', '--appendonly', 'yes'];
  const child = spawn('redis-server', words, { stdio: 'ignore' });
  const failed = new Promise((resolve) => child.once('error', () => resolve(null)));
  children.push(child);
  const cli = (...args) =>
    execFileSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8', stdio: 'pipe' });
  for (let tries = 0; ; tries++) {
    if ((await Promise.race([failed, pause(50).then(() => true)])) === null) {
      children.splice(children.indexOf(child), 1);
      return null;
    }
    try {
      cli('ping');
      break;
    } catch (error) {
      if (tries > 100) throw error;
    }
  }
  const info = (section, name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(cli('info', section))?.[1] ?? 0);
  return {
    url: `redis://127.0.0.1:${port}/0`,
    cpu: () => cpuMicroseconds(child.pid),
    memory: () => info('memory', 'used_memory'),
    keys: () => Number(cli('dbsize')),
    /** Nearly all that a gateway asks for is a script. */
    asked: () =>
      [...cli('info', 'commandstats').matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      ),
  };
}

function multiplyRegistered(path, id, count) {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(1);
  const [model] = lines.map((line) => JSON.parse(line)).find(([{ put }]) => put?.id === id);
  const likes = Array.from({ length: count - sandboxes }, (_, i) => {
    const put = { ...model.put, id: `like-${i}`, secret_sha256: randomBytes(32).toString('hex') };
    return JSON.stringify([{ ...model, put }]);
  });
  writeFileSync(
    path,
    `${[`{"version":2,"sandboxes":${lines.length + likes.length}}`, ...lines, ...likes].join('\n')}\n`,
  );
}

function childrenOf(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

/** Of the user and the kernel; the kernel counts in hundredths of a second. */
function cpuMicroseconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

const residentBytes = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

const sizeOf = (folder) => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
