// Every command of bench/ in its shortest form: it must run to its end and print figures. The figures are not judged: other
// tests share the machine. A file in bench/ that is in none of the tables fails, so nothing can break there unseen.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeNamespace, type TestNamespace } from '../support/namespace.ts';
import { runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

const bench = fileURLToPath(new URL('../../bench/', import.meta.url));
const timeoutMs = 170_000;

/** By file: with which arguments it is run, and what it prints. */
const commands: Readonly<Record<string, readonly (readonly [args: readonly string[], prints: RegExp])[]>> = {
  run: [[['--smoke'], /\| requests\/s, 64 tunnels \| \d.*\| git push of 200 MiB, s \| \d.*\| small push/s]],
  'noisy-neighbour.mjs': [
    [['--smoke'], /quiet, beside noise +p50 +\d/],
    [['--smoke', '--unlimited'], /quiet, beside noise +p50 +\d/],
    [['--smoke', '--held'], /quiet, beside 100 held +p50 +\d/],
  ],
  'path-cost.mjs': [
    [['--smoke'], /^\d+\.\d+ microseconds of CPU per request/],
    // Where V8 decides what lives long, it takes whole requests for that: five to six thousand bytes of each.
    [['20000'], /; \d{1,3} bytes of each outlive/],
  ],
  'scrub.mjs': [[['--smoke'], /full of % escapes +\d\S+ +\d\S+ +\S+ +\d\S+ +\S+\n/]],
  'sizing.mjs': [[['--smoke'], /\| GET of 1 KiB, 2 workers +\| \d+\/s/]],
  'soak.mjs': [[['--smoke'], /records in the journal +\d+ for \d+ requests.*verified: true/]],
  'start.mjs': [[['--smoke'], /sallyport run --gateway +median +\d+ ms/]],
  'workers.mjs': [[['--smoke'], /2 workers: \d+ requests\/s.* 0 not served/]],
};

/** Run by one of the commands. Of the peers only those that are installed can be. */
const parts: Readonly<Record<string, readonly string[]>> = {
  run: [
    'common.sh',
    'compare.mjs',
    'contender',
    'contenders.mjs',
    'controls.mjs',
    'make-history.mjs',
    'mb.c',
    'measure-git.mjs',
    'measure-http2.mjs',
    'measure-push-check.mjs',
    'measure.mjs',
    'peers/floor.mjs',
    'peers/floor.sh',
    'peers/goproxy.sh',
    'peers/goproxy/main.go',
    'peers/mitmproxy.sh',
    'peers/mitmproxy_addon.py',
    'peers/nginx.sh',
    'peers/sallyport.sh',
    'peers/squid.sh',
    'peers/upstream.mjs',
    'peers/upstream.sh',
    'prepare.sh',
    'processes.mjs',
    'report.mjs',
    'sizes.mjs',
    'targets.mjs',
  ],
  'path-cost.mjs': ['path-cost.ts'],
  'scrub.mjs': ['built.mjs', 'scrub-parts.ts'],
  'sizing.mjs': ['sizing-ground.mjs', 'sizing-load.mjs', 'sizing-revocations.mjs', 'sizing-upstream.mjs'],
  'soak.mjs': ['soak/agents.mjs', 'soak/upstreams.mjs'],
};

let command: BuiltCommand;
let namespace: TestNamespace;

beforeAll(async () => {
  command = buildCommand({});
  // Some listen on fixed ports: in a network of their own these are free.
  namespace = await makeNamespace();
});

afterAll(async () => {
  command.remove();
  await namespace.end();
});

test('every file of bench/ is a command that is run here, or part of one', () => {
  const found = readdirSync(bench, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(bench.length))
    // Made by a real run, and ignored by git.
    .filter((name) => !/^(work|results)\//.test(name) && name !== 'README.md');
  expect(found.sort()).toEqual([...Object.keys(commands), ...Object.values(parts).flat()].sort());
});

const runs = Object.entries(commands).flatMap(([file, forms]) =>
  forms.map(([args, prints]) => ({ name: `bench/${file} ${args.join(' ')}`, file, args, prints })),
);

test.each(runs)('$name runs to its end', { timeout: timeoutMs + 5_000 }, async ({ file, args, prints }) => {
  const words = file.endsWith('.mjs') ? [process.execPath, join(bench, file), ...args] : [join(bench, file), ...args];
  const env = { SALLYPORT_MAIN: join(command.home, 'package', 'dist', 'main.cjs'), HOME: command.home };
  const { code, stdout, stderr } = await namespace.run(words, { env, timeoutMs });
  expect(code, `${stderr}\n${stdout}`).toBe(0);
  expect(stdout).toMatch(prints);
});

test('bench/report.mjs prints a result again, and names the peers that were not installed', async () => {
  const file = join(command.home, 'latest.json');
  const machine = { cores: 2, cpu: 'any', kernel: '6', node: 'v20', openssl: 'OpenSSL 3' };
  const figures = { median: { small64: { sallyport: { rps: 4321 } } }, raw: {} };
  const missing = ['nginx', 'squid'];
  writeFileSync(file, JSON.stringify({ when: '2026-01-01', machine, versions: {}, missing, rounds: 1, ...figures }));
  const { stdout, stderr } = await runClient(process.execPath, [join(bench, 'report.mjs'), file]);
  expect(stdout, stderr).toContain('not installed here, so not measured: nginx, squid');
  expect(stdout).toContain('| requests/s, 64 tunnels | 4,321 |');
});
