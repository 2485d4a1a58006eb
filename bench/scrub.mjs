#!/usr/bin/env node
// What it costs to search answers for credentials. First the search alone, for several kinds of content and numbers of
// known secrets; then a body through the whole gateway, with TLS on both sides, without `secrets.scrub` and with it, for
// one credential and for as many as a gateway commonly holds.
// usage: node bench/scrub.mjs [MiB, a multiple of 4] [--smoke]     (everything stays on loopback)
import { execFileSync, spawn } from 'node:child_process';
import { createCipheriv, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildMain, callAdmin, importSource, startGateway } from './built.mjs';
import { cpuSecondsOf, sleep } from './processes.mjs';

const { KnownSecrets, Scrubs, Secret } = await importSource('scrub-parts.ts');
const smoke = process.argv.includes('--smoke');
const mib = Number(process.argv.slice(2).find((word) => !word.startsWith('--')) ?? (smoke ? 4 : 256));
/** As much as a TLS record holds. */
const chunkBytes = 16 * 1024;
const sampleBytes = 4 * 1024 * 1024;
const counts = [1, 10, 1000];
const gatewayCounts = [1, 10];
const rounds = smoke ? 1 : 4;

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
  const records = 4096;
  for (let i = 0; i < records; i++) createCipheriv('aes-128-gcm', key, iv).update(chunk);
  return nanoseconds(process.cpuUsage(before), records * chunkBytes);
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
/** What a gateway commonly holds: the shortest decides how far apart the search looks. */
const commonShapes = [
  () => token('sk-ant-api03-', 95),
  () => token('ghp_', 36),
  () => token('ya29.', 75),
  () => token('eyJhbGciOiJSUzI1NiJ9.', 60),
];
const keys = Array.from({ length: Math.max(...gatewayCounts) }, (_, i) => commonShapes[i % commonShapes.length]());

/** Serves mib MiB of each content, and at /echo the keys that it was sent. */
async function startUpstream() {
  const [keyFile, certificate] = [join(home, 'up.key'), join(home, 'up.pem')];
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=api.test';
  const name = ['-addext', 'subjectAltName=DNS:api.test'];
  execFileSync('openssl', [...request.split(' '), ...name, '-keyout', keyFile, '-out', certificate], {
    stdio: 'ignore',
  });
  const server = createServer({ key: readFileSync(keyFile), cert: readFileSync(certificate) }, (asked, answer) => {
    if (asked.url === '/echo') return answer.end(keys.map((_, i) => asked.headers[`x-key-${i}`]).join(' '));
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

async function startSearching(main, upstream, scrub, known) {
  const place = join(home, `${scrub ? 'searching' : 'unsearched'}-${known}`);
  const held = keys.slice(0, known);
  const credentials = held.map((value, i) => {
    const file = join(home, `key-${i}`);
    writeFileSync(file, value, { mode: 0o600 });
    return `  key-${i}: { hosts: [api.test], inject: { header: x-key-${i} }, source: { file: "${file}" } }`;
  });
  const config = `${place}.yaml`;
  writeFileSync(
    config,
    `version: 1
listen: { proxy: "127.0.0.1:0" }
allow: [{ host: api.test, ports: [${upstream.port}] }]
credentials:
${credentials.join('\n')}
upstream: { resolve: { api.test: 127.0.0.1 }, ca: "${upstream.certificate}" }
secrets: { scrub: ${scrub} }
`,
  );
  const gateway = await startGateway(main, { HOME: home, SALLYPORT_HOME: place, SALLYPORT_CONFIG: config });
  await callAdmin(join(place, 'run', 'admin.sock'), 'POST', '/internal/containers', { container_ip: '127.0.0.1' });
  const authority = join(place, 'ca', 'ca.pem');
  const curl = ['-sS', '--proxy', `http://127.0.0.1:${gateway.port}`, '--cacert', authority];
  const get = (path, ...more) =>
    new Promise((resolve, reject) => {
      const child = spawn('curl', [...curl, ...more, `https://api.test:${upstream.port}${path}`]);
      let out = '';
      child.stdout.on('data', (data) => (out += data));
      child.stderr.pipe(process.stderr);
      child.on('close', (code) => (code === 0 ? resolve(out) : reject(new Error(`curl ended with ${code}`))));
    });
  const seen = await get('/echo');
  const shown = held.filter((value) => seen.includes(value)).length;
  if (shown !== (scrub ? 0 : known))
    throw new Error(`secrets.scrub is ${scrub}, and of ${known} keys that the upstream echoed ${shown} came back`);
  return { pid: gateway.child.pid, get, end: gateway.end };
}

async function gatewayTable() {
  const upstream = await startUpstream();
  const main = buildMain(home);
  const off = await startSearching(main, upstream, false, 1);
  const searching = [];
  for (const known of gatewayCounts) searching.push(await startSearching(main, upstream, true, known));
  const cost = async (gateway, path) => {
    const before = cpuSecondsOf(gateway.pid);
    await gateway.get(path, '-o', '/dev/null');
    await sleep(50);
    return cpuSecondsOf(gateway.pid) - before;
  };
  try {
    console.log(`a body of ${mib} MiB through the gateway, seconds of its CPU, the best of ${rounds}`);
    const heads = gatewayCounts.flatMap((known) => [`${known} known`, 'ratio']);
    console.log(`${''.padEnd(20)}${['unsearched', ...heads].map((head) => head.padStart(12)).join('')}`);
    for (const [i, name] of Object.keys(contents).entries()) {
      const best = [off, ...searching].map(() => Number.POSITIVE_INFINITY);
      for (let round = 0; round < rounds; round++) {
        for (const [which, gateway] of [off, ...searching].entries()) {
          best[which] = Math.min(best[which], await cost(gateway, `/${i}`));
        }
      }
      const [without, ...withIt] = best;
      // A body that was too short for a tick of the clock has no ratio.
      const ratio = (seconds) => (without > 0 ? (seconds / without).toFixed(2) : '-');
      const row = [without.toFixed(2), ...withIt.flatMap((seconds) => [seconds.toFixed(2), ratio(seconds)])];
      console.log(`${name.padEnd(20)}${row.map((figure) => figure.padStart(12)).join('')}`);
    }
  } finally {
    await Promise.all([off, ...searching].map((gateway) => gateway.end()));
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
