import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  HomeInUse,
  LaunchError,
  type PolicyDocument,
  PolicyRejected,
  type Question,
  runSandboxed,
  type SallyportGateway,
  startGateway,
} from '../../src/index.ts';
import { findTool } from '../../src/sandbox/namespace/find-tool.ts';
import { eventually } from '../support/eventually.ts';

const host = 'api.example.com';
const askedHost = 'asked.example.com';
let ground: string;
let far: Server;
let policy: PolicyDocument;
let gateway: SallyportGateway;
let before: ProcessView;

interface ProcessView {
  readonly env: NodeJS.ProcessEnv;
  readonly umask: number;
  readonly cwd: string;
  readonly listeners: readonly number[];
  readonly isReported: boolean;
}

/** What a program would notice if its process were changed under it. */
function lookAtProcess(): ProcessView {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'uncaughtException', 'unhandledRejection'];
  return {
    env: { ...process.env },
    umask: process.umask(),
    cwd: process.cwd(),
    listeners: signals.map((name) => process.listenerCount(name as NodeJS.Signals)),
    isReported: process.report?.reportOnFatalError ?? false,
  };
}

const folder = (name: string): string => {
  const path = join(ground, name);
  mkdirSync(path, { mode: 0o755 });
  return path;
};

beforeAll(async () => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-library-'));
  process.env.LIBRARY_TEST_KEY = 'a-key-of-the-program';
  if (process.report !== undefined) process.report.reportOnFatalError = true;
  before = lookAtProcess();
  far = createServer((request, response) => response.end(`asked for ${request.url}`));
  await new Promise<void>((resolve) => far.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(far.address() as AddressInfo).port}`;
  policy = {
    version: 1,
    listen: { proxy: '127.0.0.1:0' },
    allow: [
      { host, methods: ['GET'], plain_http: true, ports: [80] },
      { host: askedHost, plain_http: true, ports: [80], ask: true },
    ],
    credentials: {
      theirs: {
        hosts: ['key.example.com'],
        inject: { header: 'x-key' },
        source: { env: 'LIBRARY_TEST_KEY', i_accept_environment: true },
      },
      mine: { hosts: ['key.example.com'], inject: { header: 'x-mine' } },
    },
    upstream: { resolve: { [host]: address, [askedHost]: address } },
  };
  gateway = await startGateway({ config: policy, home: join(ground, 'state'), log: false });
});

afterAll(async () => {
  await gateway?.stop();
  far?.close();
  delete process.env.LIBRARY_TEST_KEY;
  if (process.report !== undefined) process.report.reportOnFatalError = false;
  rmSync(ground, { recursive: true, force: true });
});

describe('a program that starts a gateway', () => {
  test('registers sandboxes, sets credentials and asks what would pass', async () => {
    const { record, proof } = await gateway.register({ id: 'one', proof: ['secret'] });
    expect([record.id, typeof proof.secret]).toEqual(['one', 'string']);
    expect((await gateway.list()).map(({ id }) => id)).toEqual(['one']);
    await gateway.setCredential('mine', 'a-value-nobody-sees');
    expect(JSON.stringify(gateway.credentials())).not.toContain('a-value-nobody-sees');
    const answer = await gateway.check({ sandbox: 'one', method: 'POST', url: `http://${host}/` });
    expect(answer).toMatchObject({ allowed: false, code: 'method.not-allowed' });
    expect(gateway.explain('one')?.length).toBeGreaterThan(0);
    expect(gateway.explain('nobody')).toBeNull();
    expect(await gateway.unregister('one')).toEqual({ unconfirmed: [] });
    expect(await gateway.unregister('one')).toBeNull();
    await expect(gateway.register({ id: 'bad name' })).rejects.toMatchObject({ status: 400 });
  });

  test('is served by the doors of the policy, and reads records as they happen', async () => {
    const heard: string[] = [];
    const stop = new AbortController();
    const reading = (async () => {
      for await (const { method, code } of gateway.requests({ follow: true, signal: stop.signal })) {
        heard.push(`${method} ${code}`);
      }
    })();
    const port = Number(/:(\d+)$/.exec(gateway.doors[0]!)?.[1]);
    // Until the feed has begun: what comes after its beginning is in it.
    await eventually(async () => {
      const socket = connect(port, '127.0.0.1');
      socket.end(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      await text(socket);
      return heard.length > 0;
    }, 'a record is heard');
    stop.abort();
    await reading;
    expect(heard[0]).toBe('GET sandbox.unknown');
  });

  test('gives another policy as an object, and keeps the old one when that is not valid', async () => {
    const error = await gateway.reload({ ...policy, alow: [] }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PolicyRejected);
    expect((error as PolicyRejected).errors).toMatchObject([{ file: 'the policy given in code', message: /alow/ }]);
    const question = { method: 'POST', url: `http://${host}/` };
    await gateway.reload();
    expect((await gateway.check(question)).allowed).toBe(false);
    await gateway.reload({ ...policy, allow: [{ host, methods: ['GET', 'POST'], plain_http: true, ports: [80] }] });
    expect((await gateway.check(question)).allowed).toBe(true);
    await gateway.reload(policy);
    expect((await gateway.check(question)).allowed).toBe(false);
  });

  test('reloads several at once: each hears what became of its own policy', async () => {
    const sendsTo = (methods: readonly string[]) => ({
      ...policy,
      allow: [{ host, methods, plain_http: true, ports: [80] }],
    });
    const bad = { ...policy, alow: [] };
    const results = await Promise.allSettled([
      ...[bad, sendsTo(['PUT']), { ...policy, allow: 7 }, sendsTo(['POST']), bad].map((one) => gateway.reload(one)),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      ...['rejected', 'fulfilled', 'rejected', 'fulfilled', 'rejected'],
    ]);
    const allowed = async (method: string) => (await gateway.check({ method, url: `http://${host}/` })).allowed;
    expect([await allowed('PUT'), await allowed('POST')]).toEqual([false, true]);
    await gateway.reload();
    expect(await allowed('POST')).toBe(true);
    await gateway.reload(policy);
  });

  test('hears in words that a state directory is taken, and may have another gateway elsewhere', async () => {
    await expect(startGateway({ config: policy, home: join(ground, 'state'), log: false })).rejects.toBeInstanceOf(
      HomeInUse,
    );
    const other = await startGateway({ config: policy, home: join(ground, 'other'), log: false });
    expect(other.doors).not.toEqual(gateway.doors);
    await other[Symbol.asyncDispose]();
    expect(gateway.health().ready).toBe(true);
  });

  test.each([
    ['has an unknown key', { version: 1, alow: [] }, 'alow'],
    ['has no version', { allow: [] } as unknown as PolicyDocument, 'version'],
    ['cannot be written down', { version: 1, allow: [1n] }, 'BigInt'],
  ])('is told everything that is wrong with a policy that %s', async (_what, config, word) => {
    const started = startGateway({ config, home: join(ground, 'never'), log: false });
    await expect(started).rejects.toMatchObject({ name: 'PolicyRejected', message: expect.stringContaining(word) });
  });
});

describe('a program that runs a command in a sandbox', () => {
  const curl = `curl -s http://${host}/from-inside; curl -s -X POST http://${host}/; cat; echo "$GIVEN" >&2; exit 7`;

  test('has its streams, its exit code and what it was refused', async () => {
    const run = await runSandboxed({
      gateway,
      command: ['sh', '-c', curl],
      cwd: folder('project'),
      env: { GIVEN: 'a variable' },
      id: 'runs-here',
    });
    run.stdin!.end('what was written to it');
    const [output, errors] = await Promise.all([text(run.stdout!), text(run.stderr!)]);
    expect(await run.exitCode).toBe(7);
    expect(run.id).toBe('runs-here');
    expect(output).toMatch(/^asked for \/from-inside\{.*\}\s*what was written to it$/);
    expect(errors.trim()).toBe('a variable');
    const refused = await eventually(async () => (await run.refusals())[0], 'the refusal is in the journal');
    expect([refused.code, refused.sandbox]).toEqual(['method.not-allowed', 'runs-here']);
    expect((await gateway.list()).map(({ id }) => id)).toEqual([]);
  });

  test('has all that it was refused, however much that is', async () => {
    const script = `curl -s -o /dev/null -X POST "http://${host}/[1-130]"`;
    const run = await runSandboxed({ gateway, command: ['sh', '-c', script], cwd: folder('much') });
    run.stdout!.resume();
    run.stderr!.resume();
    expect(await run.exitCode).toBe(0);
    const paths = async () => (await run.refusals()).map(({ path }) => path);
    await eventually(async () => (await paths()).at(-1) === '/130', 'the last is in the journal');
    expect(await paths()).toEqual(Array.from({ length: 130 }, (_, at) => `/${at + 1}`));
  });

  test('answers in the place of a person what its policy asks about', async () => {
    const stop = new AbortController();
    const answering = (async () => {
      for await (const { event, data } of gateway.questions.watch(stop.signal)) {
        if (event !== 'question') continue;
        const { id, path } = data as Question;
        const answer = path === '/yes' ? ({ answer: 'approve', for: 'once' } as const) : ({ answer: 'deny' } as const);
        await gateway.questions.answer(id, answer);
      }
    })();
    const script = `curl -s http://${askedHost}/yes; curl -s http://${askedHost}/no`;
    const run = await runSandboxed({ gateway, command: ['sh', '-c', script], cwd: folder('asks') });
    const output = await text(run.stdout!);
    expect(await run.exitCode).toBe(0);
    expect(output).toMatch(/^asked for \/yes\{.*"approval\.denied"/);
    expect(gateway.questions.list()).toEqual([]);
    stop.abort();
    await answering;
  });

  test('may leave the gateway to it, which ends with the command', async () => {
    const run = await runSandboxed({
      config: policy,
      // That one is taken: another place below it is used.
      home: join(ground, 'state'),
      command: ['curl', '-s', `http://${host}/alone`],
      cwd: folder('alone'),
      userKeys: false,
    });
    expect(await text(run.stdout!)).toBe('asked for /alone');
    expect(await run.exitCode).toBe(0);
    const seen: string[] = [];
    for await (const { path, kind } of run.requests()) if (kind === 'http') seen.push(path);
    expect(seen).toEqual(['/alone']);
  });

  test('ends it by a signal of its own, and everything in it', async () => {
    const controller = new AbortController();
    const cwd = folder('aborted');
    const run = await runSandboxed({ gateway, command: ['sleep', '600'], cwd, signal: controller.signal });
    controller.abort();
    expect(await run.exitCode).toBe(137);
    await expect(runSandboxed({ gateway, command: ['true'], cwd, signal: controller.signal })).rejects.toThrow('abort');
  });

  test('is told what to do where it cannot be started', async () => {
    const started = runSandboxed({ gateway, command: ['no-such-program'], cwd: folder('none') });
    const error = await started.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LaunchError);
    expect((error as LaunchError).hint).not.toBe('');
    expect((await gateway.list()).map(({ id }) => id)).toEqual([]);
  });

  test('never runs a program that the sandbox has put into the PATH of this process', async () => {
    const cwd = folder('trap');
    const bin = join(cwd, 'node_modules', '.bin');
    mkdirSync(bin, { recursive: true });
    const path = process.env.PATH;
    process.env.PATH = `${bin}${delimiter}${path}`;
    try {
      const run = await runSandboxed({ gateway, command: ['true'], cwd });
      expect(await run.exitCode).toBe(0);
      writeFileSync(join(bin, 'a-tool-of-nobody'), '#!/bin/sh\n', { mode: 0o755 });
      expect(findTool('a-tool-of-nobody')).toBeNull();
      expect(process.env.PATH).toBe(`${bin}${delimiter}${path}`);
    } finally {
      process.env.PATH = path;
    }
  });
});

describe('the process of that program', () => {
  test('is as it was: variables, signals, umask, reports', () => {
    expect(lookAtProcess()).toEqual(before);
    expect(process.env.LIBRARY_TEST_KEY).toBe('a-key-of-the-program');
  });
});
