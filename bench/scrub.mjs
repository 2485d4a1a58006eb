#!/usr/bin/env node
// What it costs to search answers for credentials. First the search alone, for several kinds of content and numbers of
// known secrets; then a body through the whole gateway, with TLS on both sides, with and without `secrets.scrub`.
// usage: node bench/scrub.mjs [MiB]     (first: npx tsc -p tsconfig.build.json; everything stays on loopback)
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createCipheriv, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '../.sallyport-build/modules/flow/secret.js';
import { KnownSecrets } from '../.sallyport-build/modules/inject/known-secrets.js';
import { Scrubs } from '../.sallyport-build/modules/inject/secret-scrub.js';
import { cpuSecondsOf, sleep } from './processes.mjs';

const mib = Number(process.argv[2] ?? 256);
const main = fileURLToPath(new URL('../.sallyport-build/modules/main.js', import.meta.url));
/** As much as a TLS record holds. */
const chunkBytes = 16 * 1024;
const sampleBytes = 4 * 1024 * 1024;
const counts = [1, 10, 1000];

let seed = 1;
const chance = () => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return seed / 2 ** 32;
};
const words = 'the quick brown fox jumps over a lazy dog while "tokens" stream from it\'s model'.split(' ');
const word = () => words[Math.floor(chance() * words.length)];
const hex = (byte) => byte.toString(16).padStart(2, '0');

function repeated(make) {
  let text = '';
  while (text.length < sampleBytes) text += make();
  return Buffer.from(text.slice(0, sampleBytes), 'latin1');
}

const contents = {
  'random binary': randomBytes(sampleBytes),
  'English text': repeated(() => word() + (chance() < 0.08 ? '\n' : ' ')),
  JSON: repeated(
    () => `{"id":${Math.floor(chance() * 1e6)},"name":"${word()} ${word()}","text":"${word()}\\n${word()}"},`,
  ),
  base64: Buffer.from(randomBytes((sampleBytes * 3) / 4).toString('base64')),
  HTML: repeated(() => `<a href="?a=${word()}&amp;b=${word()}">${word()} &#x27;${word()}</a>\n`),
  'full of \\ escapes': repeated(() => `\\"${word()}\\/${word()}\\u00${hex(0x20 + Math.floor(chance() * 90))}`),
  'full of % escapes': repeated(() => (chance() < 0.5 ? `%${hex(0x20 + Math.floor(chance() * 90))}` : word()[0])),
};

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const token = (prefix, length) => prefix + Array.from(randomBytes(length), (byte) => letters[byte % 62]).join('');
const shapes = [
  () => token('sk-ant-api03-', 95),
  () => token('ghs_', 36),
  () => token('sk-proj-', 156),
  () => token('AKIA', 16),
  () => token('eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.', 800),
];

const nanoseconds = (used, bytes) => ((used.user + used.system) * 1000) / bytes;

/** CPU for each byte of what TLS does with it, once: a measure of the machine in its present state. */
function cipherCost() {
  const [key, iv, chunk] = [randomBytes(16), randomBytes(12), randomBytes(chunkBytes)];
  const before = process.cpuUsage();
  const rounds = 4096;
  for (let i = 0; i < rounds; i++) createCipheriv('aes-128-gcm', key, iv).update(chunk);
  return nanoseconds(process.cpuUsage(before), rounds * chunkBytes);
}

function searchCost(scrubs, content, bytes) {
  const run = (total) => {
    const body = scrubs.open().openBody();
    for (let done = 0; done < total; done += chunkBytes) {
      const at = done % content.length;
      body.feed(content.subarray(at, at + chunkBytes));
    }
    body.end();
  };
  run(sampleBytes);
  const before = process.cpuUsage();
  run(bytes);
  return nanoseconds(process.cpuUsage(before), bytes);
}

function searchTable() {
  const bytes = Math.min(64, mib) * 1024 * 1024;
  const kinds = counts.map((count) => {
    const known = new KnownSecrets();
    const scrubs = new Scrubs(known);
    const before = process.cpuUsage();
    for (let i = 0; i < count; i++) {
      known.note(new Secret(`key${i}`, shapes[i % shapes.length]()));
      scrubs.open();
    }
    const used = process.cpuUsage(before);
    const each = ((used.user + used.system) / count).toFixed(0);
    console.log(`${String(count).padStart(5)} secrets noted one by one: ${each} microseconds of CPU each`);
    return scrubs;
  });
  const head = counts.map((count) => `${count} known`.padStart(12)).join('');
  console.log(`\nthe search alone, ns of CPU for each byte\n${''.padEnd(20)}${head}`);
  for (const [name, content] of Object.entries(contents)) {
    const row = kinds.map((scrubs) => searchCost(scrubs, content, bytes).toFixed(2).padStart(12)).join('');
    console.log(`${name.padEnd(20)}${row}`);
  }
  console.log(`${'(AES-GCM, once)'.padEnd(20)}${cipherCost().toFixed(2).padStart(12)}\n`);
}

const home = mkdtempSync(join(tmpdir(), 'scrub-cost-'));
const key = token('sk-bench-', 40);

/** Serves mib MiB of each content, and at /echo what it was sent as x-api-key. */
async function startUpstream() {
  const [keyFile, certificate] = [join(home, 'up.key'), join(home, 'up.pem')];
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=api.test';
  const name = ['-addext', 'subjectAltName=DNS:api.test'];
  execFileSync('openssl', [...request.split(' '), ...name, '-keyout', keyFile, '-out', certificate], {
    stdio: 'ignore',
  });
  const server = createServer({ key: readFileSync(keyFile), cert: readFileSync(certificate) }, (asked, answer) => {
    if (asked.url === '/echo') return answer.end(`seen: ${asked.headers['x-api-key']}`);
    const content = Object.values(contents)[Number(asked.url.slice(1))];
    let left = (mib * 1024 * 1024) / content.length;
    const more = () => {
      while (left-- > 0) if (!answer.write(content)) return answer.once('drain', more);
      answer.end();
    };
    answer.writeHead(200, { 'content-length': mib * 1024 * 1024 });
    return more();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, certificate, close: () => server.close() };
}

async function startGateway(upstream, scrub, proxyPort) {
  const place = join(home, scrub ? 'on' : 'off');
  writeFileSync(join(home, 'bench.key'), key, { mode: 0o600 });
  const config = `${place}.yaml`;
  writeFileSync(
    config,
    `version: 1
listen: { proxy: "127.0.0.1:${proxyPort}" }
allow: [{ host: api.test, ports: [${upstream.port}] }]
credentials: { bench: { hosts: [api.test], inject: { header: x-api-key }, source: { file: "${join(home, 'bench.key')}" } } }
upstream: { resolve: { api.test: 127.0.0.1 }, ca: "${upstream.certificate}" }
secrets: { scrub: ${scrub} }
`,
  );
  const env = { ...process.env, SALLYPORT_HOME: place };
  const up = spawn(process.execPath, [main, 'up', '--config', config], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => up.stdout.once('data', resolve));
  const run = (...args) => {
    for (let tries = 1; ; tries++) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { env, encoding: 'utf8' });
      if (status === 0) return stdout;
      if (tries === 5) throw new Error(`${args.join(' ')}: ${stderr}`);
    }
  };
  run('register', '--ip', '127.0.0.1');
  const authority = `${place}.pem`;
  writeFileSync(authority, run('ca', 'export'));
  const curl = ['-sS', '--proxy', `http://127.0.0.1:${proxyPort}`, '--cacert', authority];
  const get = (path, ...more) =>
    new Promise((resolve, reject) => {
      const child = spawn('curl', [...curl, ...more, `https://api.test:${upstream.port}${path}`]);
      let out = '';
      child.stdout.on('data', (data) => (out += data));
      child.stderr.pipe(process.stderr);
      child.on('close', (code) => (code === 0 ? resolve(out) : reject(new Error(`curl ended with ${code}`))));
    });
  const seen = await get('/echo');
  if (seen.includes(key) === scrub)
    throw new Error(`secrets.scrub is ${scrub}, but the upstream's echo came as: ${seen}`);
  return { pid: up.pid, get, end: () => new Promise((resolve) => up.once('exit', resolve) && up.kill('SIGTERM')) };
}

async function gatewayTable() {
  const upstream = await startUpstream();
  const off = await startGateway(upstream, false, 8121);
  const on = await startGateway(upstream, true, 8122);
  const cost = async (gateway, path) => {
    const before = cpuSecondsOf(gateway.pid);
    await gateway.get(path, '-o', '/dev/null');
    await sleep(50);
    return cpuSecondsOf(gateway.pid) - before;
  };
  try {
    console.log(`a body of ${mib} MiB through the gateway, seconds of its CPU, the best of four`);
    console.log(`${''.padEnd(20)}${'unsearched'.padStart(12)}${'searched'.padStart(12)}${'ratio'.padStart(12)}`);
    for (const [i, name] of Object.keys(contents).entries()) {
      const figures = { off: [], on: [] };
      for (let round = 0; round < 4; round++) {
        figures.off.push(await cost(off, `/${i}`));
        figures.on.push(await cost(on, `/${i}`));
      }
      const [without, withIt] = [Math.min(...figures.off), Math.min(...figures.on)];
      const row = [without, withIt, withIt / without].map((figure) => figure.toFixed(2).padStart(12)).join('');
      console.log(`${name.padEnd(20)}${row}`);
    }
  } finally {
    await Promise.all([on.end(), off.end()]);
    upstream.close();
  }
}

try {
  searchTable();
  await gatewayTable();
} finally {
  rmSync(home, { recursive: true, force: true });
}
process.exit(0);
