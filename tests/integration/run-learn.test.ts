import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type FarNames, makeFarNames } from '../support/far-names.ts';
import { runAtTerminal } from '../support/pty.ts';
import { makeRunGround, type RunGround, readableByAll } from '../support/run-ground.ts';
import { makeTestCa } from '../support/test-ca.ts';

const user = 'an ordinary user';
const hosts = [
  'docs.new.example',
  'cdn.new.example',
  'img.new.example',
  'lone.example',
  'known.example',
  'kept.example',
];
let upstream: FakeUpstream;
let farNames: FarNames;
let ground: RunGround;
let configPath: string;

beforeAll(async () => {
  const ca = makeTestCa();
  upstream = await startFakeUpstream(ca, hosts, (_request, response) => response.end('an answer\n'));
  farNames = makeFarNames(hosts, upstream.address);
  readableByAll(farNames.preload);
  ground = makeRunGround({});
  configPath = join(ground.projectOf(user), '..', '..', 'sallyport.yaml');
  const config = {
    version: 1,
    allow: [{ host: 'known.example', paths: ['/open/**'] }],
    credentials: {
      kept: { hosts: ['kept.example'], inject: { header: 'x-api-key' }, source: { file: '/nowhere' } },
    },
    upstream: { ca: readableByAll(ca.path) },
  };
  // With comments, as people have them.
  writeFileSync(configPath, stringify(config).replace('allow:\n', '# ours\nallow:\n'));
  const { uid, gid } = statSync(ground.projectOf(user));
  chownSync(configPath, uid, gid);
});

afterAll(async () => {
  await upstream.close();
  farNames.remove();
  ground.remove();
});

const run = (script: string, options: readonly string[] = []) =>
  ground.sallyport(user, ['run', ...options, '--', 'sh', '-c', script], {
    env: { NODE_OPTIONS: `--require=${farNames.preload}` },
  });

describe('sallyport run --learn', () => {
  test('what a session read is proposed, applied when it is asked for, and passes in the next one without learning', async () => {
    const script = [
      ...['docs', 'cdn', 'img'].map((name) => `curl -sS https://${name}.new.example/${name}`),
      'curl -sS https://lone.example/x https://lone.example/y',
      'curl -sS -d data https://lone.example/post',
      'curl -sS https://known.example/shut',
      'curl -sS -m 5 https://kept.example/',
      'exit 7',
    ].join('\n');
    const learned = await run(script, ['--learn', '--id', 'first']);
    expect(learned.stdout.match(/an answer/g)).toHaveLength(5);
    expect(learned.stdout).toContain('"code":"method.not-allowed"');
    expect(learned.code).toBe(7);
    expect(upstream.seen.map(({ method }) => method)).toEqual(Array(5).fill('GET'));
    expect(learned.stderr).toContain('sallyport: learning. Public hosts');
    expect(learned.stderr).toMatch(
      /\+ {3}- \{ host: "\*\.new\.example", methods: \[GET, HEAD\] \} {2}# learned \S+: 3 requests/,
    );
    expect(learned.stderr).toMatch(
      /\+ {3}- \{ host: lone\.example, methods: \[GET, HEAD\] \} {2}# learned \S+: 2 requests/,
    );
    expect(learned.stderr).toContain('POST https://lone.example/post  once');
    expect(learned.stderr).toMatch(/GET https:\/\/known\.example\/shut {2}once\n.*allow\[0\], line \d+/);
    expect(learned.stderr).toContain('look-up kept.example');
    expect(learned.stderr).toContain('Kept. Add them later with: sallyport learn apply first');

    const before = readFileSync(configPath, 'utf8');
    const applied = await ground.sallyport(user, ['learn', 'apply', 'first']);
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    expect(applied.stdout).toContain('Added 2 lines');
    const after = readFileSync(configPath, 'utf8');
    expect(after.split('\n').filter((line) => !line.includes('# learned '))).toEqual(before.split('\n'));
    expect((parse(after) as { allow: unknown[] }).allow).toEqual([
      { host: 'known.example', paths: ['/open/**'] },
      { host: '*.new.example', methods: ['GET', 'HEAD'] },
      { host: 'lone.example', methods: ['GET', 'HEAD'] },
    ]);

    const next = await run(
      'curl -sS https://docs.new.example/again https://lone.example/again https://kept.example/ -m 5',
    );
    expect(next.stdout.match(/an answer/g)).toHaveLength(2);
  });

  test('at a terminal the person is asked when the command has ended, and the exit code stays the command’s', async () => {
    const folder = join(ground.projectOf('root'), '..', '..');
    const config = join(folder, 'sallyport.yaml');
    const allow = [{ host: 'known.example' }];
    writeFileSync(config, stringify({ ...(parse(readFileSync(configPath, 'utf8')) as object), allow }));
    const main = join(folder, '..', 'package', 'dist', 'main.cjs');
    const script = 'curl -sS https://lone.example/x; exit 3';
    const run = await runAtTerminal(
      [process.execPath, main, 'run', '--learn', '--', 'sh', '-c', script],
      [{ wait: 'Add this line to' }, { wait: '[y/N]' }, { type: 'y\n' }, { wait: 'Added 1 line' }],
      {
        folder: ground.projectOf('root'),
        environment: {
          HOME: ground.homeOf('root'),
          SALLYPORT_HOME: ground.stateOf('root'),
          SALLYPORT_CONFIG: config,
          NODE_OPTIONS: `--require=${farNames.preload}`,
        },
      },
    );
    expect([run.missed, run.code], run.screen).toEqual([null, 3]);
    expect(readFileSync(config, 'utf8')).toContain('- { host: lone.example, methods: [GET, HEAD] }');
  });
});
