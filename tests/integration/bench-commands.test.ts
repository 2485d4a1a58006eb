// Every command of bench/ in its shortest form: it must run to its end and print figures. The figures are not judged: other
// tests share the machine. A file in bench/ that is in none of the tables fails, so nothing can break there unseen.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeNamespace, type TestNamespace } from '../support/namespace.ts';
import { runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand } from '../support/spawn-gateway.ts';

const bench = fileURLToPath(new URL('../../bench/', import.meta.url));
const timeoutMs = 170_000;

/** By file: with which arguments it is run, and what it prints. */
const commands: Readonly<Record<string, readonly (readonly [args: readonly string[], prints: RegExp])[]>> = {
  run: [
    [
      ['--smoke', '--only', 'direct,floor,sallyport', '--record', 'a smoke run'],
      /a network that is its own.*\| requests\/s, 64 tunnels \| \d.*\| git push of 200 MiB, s \| \d.*\| small push/s,
    ],
    // Those that are installed.
    [
      ['--smoke', '--tests', 'small64', '--only', 'direct,nginx,squid,goproxy,mitmproxy'],
      /\| requests\/s, 64 tunnels /,
    ],
  ],
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
  'sizing.mjs': [
    [['--smoke'], /\| GET of 1 KiB, 2 workers +\| \d+\/s.* 10 sandboxes at once +\| \d+\/s.*goal at most 5 KiB/s],
  ],
  'soak.mjs': [[['--smoke'], /records in the journal +\d+ for \d+ requests.*verified: true/]],
  'start.mjs': [[['--smoke'], /\.\/sallyport run, joining a gateway +start: median +\d+ ms.*goal at most 0.25 s/s]],
  'workers.mjs': [[['--smoke'], /2 workers: \d+ requests\/s.* 0 not served.*goal at most 1.15 times/s]],
};

/** Run by one of the commands. Of the peers only those that are installed can be. */
const parts: Readonly<Record<string, readonly string[]>> = {
  run: [
    'common.sh',
    'compare.mjs',
    'contender',
    'contenders.mjs',
    'controls.mjs',
    'history.mjs',
    'make-history.mjs',
    'mb.c',
    'measure-agent.mjs',
    'measure-git.mjs',
    'measure-http2.mjs',
    'measure-push-check.mjs',
    'measure-sandboxes.mjs',
    'measure-stages.mjs',
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
    'picture.mjs',
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
    .filter((name) => !/^(work|results)\//.test(name) && !['README.md', 'history.jsonl'].includes(name));
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

test('a file of bench/ that says how it is called is a command', () => {
  const called = Object.values(parts)
    .flat()
    .filter((name) => /^(#|\/\/) usage: /m.test(readFileSync(join(bench, name), 'utf8')));
  expect(called).toEqual([]);
});

test('a contender that gives no figure fails the run, and is named', { timeout: timeoutMs + 5_000 }, async () => {
  const folder = mkdtempSync(join(command.home, 'contender-'));
  // It listens where the real one would, and answers nobody.
  const deaf = "require('node:net').createServer((socket) => socket.destroy()).listen(8101, '127.0.0.1')";
  const lines = ['#!/bin/sh', '[ "$1" = --version ] && exit', `exec ${process.execPath} -e "${deaf}"`, ''];
  writeFileSync(join(folder, 'mitmdump'), lines.join('\n'), { mode: 0o700 });
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: command.home };
  const words = [join(bench, 'run'), '--smoke', '--tests', 'small64', '--only', 'direct,mitmproxy'];
  const { code, stderr } = await namespace.run(words, { env, timeoutMs });
  expect(stderr).toMatch(/there is no figure for .*small64 mitmproxy: /);
  expect(code).toBe(1);
});

describe('bench/report.mjs prints a result again', () => {
  const machine = { cores: 2, cpu: 'any', kernel: '6', node: 'v20', openssl: 'OpenSSL 3' };
  const rated = (rps: number, cpu_s_per_10k: number) => ({ rps, cpu_s_per_10k });
  const report = (when: string, ours: number) => ({
    when,
    machine,
    versions: {},
    missing: ['nginx', 'squid'],
    rounds: 1,
    median: { small64: { sallyport: rated(4321, ours), floor: rated(9876, 1) } },
    raw: {},
  });

  async function printed(content: object): Promise<string> {
    const folder = mkdtempSync(join(command.home, 'report-'));
    const file = join(folder, 'latest.json');
    writeFileSync(file, JSON.stringify(content));
    const figures = { 'CPU per small request, to floor': 2.1 };
    const lines = ['2026-01-01', '2026-03-03'].map((when) => JSON.stringify({ when, figures }));
    writeFileSync(join(folder, 'history.jsonl'), `${lines.join('\n')}\n`);
    const env = { PATH: process.env.PATH!, SALLYPORT_BENCH_WORK: folder };
    const { stdout, stderr } = await runClient(process.execPath, [join(bench, 'report.mjs'), file], { env });
    expect(stderr).toBe('');
    return stdout;
  }

  test('and names the peers that were not installed', async () => {
    const stdout = await printed(report('2026-01-01', 1.2));
    expect(stdout).toContain('not installed here, so not measured: nginx, squid');
    expect(stdout).toContain('| requests/s, 64 tunnels | 4,321 | 9,876 (0.44×) |');
  });

  test('with goal, now and before', async () => {
    const row = '| CPU per small request, to floor | at most 1.35 times |';
    // Nothing is before the first.
    expect(await printed(report('2026-01-01', 1.2))).toContain(`${row} 1.2 times (1.2 to 1) | – | PASS |`);
    expect(await printed(report('2026-02-02', 1.5))).toContain(`${row} 1.5 times (1.5 to 1) | 2.1 times | MISS |`);
  });
});
