// Must not happen: a secret, from whatever source, in anything that the gateway has written or said, after a day on which
// everything was used, much failed, and the process crashed.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placeholderAccessKeyId } from '../../src/inject/sigv4-claim.ts';
import { eventually } from '../support/eventually.ts';
import { sendBare, sendPlain, sendTunnelled } from '../support/raw-client.ts';
import { commandSection, zeroId } from '../support/raw-push.ts';
import { callAdmin } from '../support/test-gateway.ts';
import { askHttp2, openHttp2 } from '../support/tunnel-client.ts';
import { awsHost, canary, type LeakGround, type LeakyGateway, objectId, openLeakGround } from './leak-ground.ts';
import { childrenOf, LeakSearch, spellings } from './leak-search.ts';

let ground: LeakGround;
let gateway: LeakyGateway;
const written: { place: string; text: string }[] = [];
const note = (place: string, text: string): void => void written.push({ place, text });

const admin = (method: string, path: string, body?: unknown) =>
  callAdmin(join(ground.command.home, 'state', 'run', 'admin.sock'), method, path, body);

beforeAll(async () => {
  ground = await openLeakGround();
  gateway = await ground.up();
  const registered = await admin('POST', '/internal/containers', {
    container_ip: '127.0.0.1',
    repos: ['acme/widgets'],
  });
  expect(registered.status).toBe(201);
  for (const name of ['memory', 'broken']) {
    const reply = await admin('PUT', `/internal/credentials/${name}`, ground.planted.get('memory'));
    expect(reply.status, reply.body).toBeLessThan(300);
    note('admin', reply.body);
  }
  await beBusy();
  await askEverything(registered.json<{ id: string }>().id);
  await crash();
});

afterAll(async () => {
  gateway.child.kill('SIGKILL');
  await gateway.ended;
  await ground.close();
});

const get = (host: string, path: string, fields = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}Connection: close\r\n\r\n`;

const post = (host: string, path: string, type: string, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    ),
    body,
  ]);

/** Traffic of every kind: allowed, refused, malformed, echoed, turned away. */
async function beBusy(): Promise<void> {
  const ask = async (host: string, bytes: string | Buffer): Promise<void> =>
    note('door', (await sendTunnelled(gateway, host, bytes)).text);
  // Alone: of many refusals at once the log shows the first.
  await ask('memory.example', get('memory.example', `/v1/../${canary.path}`));
  const watching = setInterval(() => note('children', childrenOf(gateway.child.pid!)), 50);
  const everywhere = [...ground.hosts, 'broken.example'];
  await Promise.all(
    everywhere.map(async (host) => {
      for (const path of ['/v1/x?q=1', '/v1/unauthorized', '/v1/%zz', '/telemetry']) {
        await ask(host, get(host, path, 'Authorization: Bearer placeholder\r\n'));
      }
      await ask(host, get('elsewhere.example', '/v1/x'));
    }),
  );
  // A login goes to the paths of inference alone.
  await ask('api.anthropic.com', get('api.anthropic.com', '/v1/models', 'Authorization: Bearer placeholder\r\n'));
  clearInterval(watching);
  note('door', (await sendBare(gateway, 'memory.example:80', get('memory.example', '/v1/x'))).text);
  note('door', (await sendPlain(gateway, 'GARBAGE memory.example\r\n\r\n')).text);
  for (const host of ['memory.example', 'api.anthropic.com']) {
    const session = await openHttp2(gateway, host, { caPath: gateway.caPath });
    for (const path of ['/v1/x', '/v1/models', '/v1/unauthorized']) {
      const { headers, body } = await askHttp2(session, { ':path': path });
      note('door', JSON.stringify([headers, body.toString('latin1')]));
    }
    session.destroy();
  }
  const push = commandSection([[zeroId, '1'.repeat(40), 'refs/heads/main']]);
  const receive = '/acme/widgets.git/git-receive-pack';
  await ask('github.com', get('github.com', '/acme/widgets.git/info/refs?service=git-receive-pack'));
  await ask('github.com', post('github.com', receive, 'application/x-git-receive-pack-request', push));
  await ask('github.com', get('github.com', '/foreign/thing.git/info/refs?service=git-upload-pack'));
  await ask(awsHost, get(awsHost, '/bucket/key', signedByTheSandbox()));
  const batch = Buffer.from(`{"operation":"download","objects":[{"oid":"${objectId}","size":1}]}`);
  const lfs = '/acme/widgets.git/info/lfs/objects/batch';
  const answered = await sendTunnelled(
    gateway,
    'github.com',
    post('github.com', lfs, 'application/vnd.git-lfs+json', batch),
  );
  note('door', answered.text);
  const ticket = /"href":"https:\/\/github\.com(\/[^"]+)"/.exec(answered.text);
  if (ticket === null) throw new Error(`no ticket in ${answered.text}`);
  await ask('github.com', get('github.com', ticket[1]!));
  await ask('api.github.com', get('api.github.com', '/repos/acme/widgets'));
  const refresh = Buffer.from('{"grant_type":"refresh_token","refresh_token":"placeholder"}');
  await ask('platform.claude.com', post('platform.claude.com', '/v1/oauth/token', 'application/json', refresh));
  ground.rotate();
  await ask('filed.example', get('filed.example', '/v1/unauthorized'));
  ground.garble(true);
  await ask('memory.example', get('memory.example', '/v1/x'));
  ground.garble(false);
}

/** As a client of AWS signs with the placeholder keys that a sandbox has. */
function signedByTheSandbox(): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const signed = 'host;x-amz-content-sha256;x-amz-date';
  const claim = `Credential=${placeholderAccessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${'0'.repeat(64)}`;
  return `X-Amz-Date: ${time}\r\nX-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\nAuthorization: AWS4-HMAC-SHA256 ${claim}\r\n`;
}

/** Everything that an operator can ask, on the socket and on the command line. */
async function askEverything(id: string): Promise<void> {
  for (const path of ['containers', `containers/${id}`, 'credentials', 'health', 'audit', 'nothing']) {
    note('admin', (await admin('GET', `/internal/${path}`)).body);
  }
  note('metrics', (await admin('GET', '/internal/metrics')).body);
  for (const name of ground.hosts) {
    const asked = { method: 'GET', url: `https://${name}/v1/x`, sandbox: id };
    note('admin', (await admin('POST', '/internal/check', asked)).body);
  }
  const value = ground.planted.get('memory')!;
  const pasted = `${value}\n${value}\n`;
  note('admin', (await admin('PUT', '/internal/credentials/memory', pasted)).body);
  note('admin', (await admin('PUT', '/internal/credentials/filed', value)).body);
  const commands: [args: string[], input?: string][] = [
    [['logs']],
    [['logs', '--refused', '--json']],
    [['secret', 'list']],
    [['secret', 'list', '--json']],
    [['secret', 'set', 'memory'], pasted],
    [['secret', 'set', 'filed'], value],
    [['secret', 'set', 'memory', value]],
    [['secret', 'set', value]],
    [['list', '--json']],
    [['check', 'GET', 'https://asked.example/v1/x', '--json']],
    [['check', 'GET', 'https://failing.example/v1/x']],
    [['config', 'check']],
    [['audit', 'verify']],
    [['doctor', '--outside', '--json']],
    [['renew', id]],
    [['ca', 'path']],
  ];
  // Two at a time: each is a process of its own.
  const next = async (): Promise<void> => {
    for (let one = commands.shift(); one !== undefined; one = commands.shift()) {
      const run = await ground.run(...one);
      note('command line', `${run.stdout}\n${run.stderr}`);
    }
  };
  await Promise.all([next(), next()]);
}

/** A configuration that cannot be read, an error that nothing catches, and signals that end a process in a core dump. */
async function crash(): Promise<void> {
  const { child } = gateway;
  note('process', readFileSync(`/proc/${child.pid}/cmdline`, 'latin1'));
  // By itself Node opens a debugger at this one.
  child.kill('SIGUSR1');
  ground.breakConfig();
  child.kill('SIGHUP');
  await eventually(() => gateway.output().includes('NOT taken over'), 'the broken configuration is refused');
  note('admin', (await admin('GET', '/internal/health')).body);
  child.kill('SIGUSR2');
  expect(await gateway.ended).not.toBe('0');
  expect(gateway.output()).toContain('a planted fault');
  note('output', gateway.output());
  ground.repairConfig();
  for (const signal of ['SIGABRT', 'SIGSEGV'] as const) {
    gateway = await ground.up();
    note('door', (await sendTunnelled(gateway, 'filed.example', get('filed.example', '/v1/x'))).text);
    gateway.child.kill(signal);
    expect(await gateway.ended).toBe(signal);
    note('output', gateway.output());
  }
  const inside = `env; echo ${canary.path}; curl -si https://filed.example/v1/x https://elsewhere.example/`;
  const run = await ground.run(['run', '--', '/bin/sh', '-c', inside]);
  note('sandbox', `${run.stdout}\n${run.stderr}`);
}

/** All there is to look at. */
function search(): LeakSearch {
  const looking = new LeakSearch(ground.planted);
  for (const { place, text } of written) looking.add(place, text);
  looking.addFiles('state', join(ground.command.home, 'state'));
  looking.addFiles('standing', ground.standing);
  return looking;
}

describe('after a day on which everything was used and much failed', () => {
  test('every secret was used where it belongs, and nowhere else', () => {
    const far = ground.far.bytes;
    const unused = [...ground.planted].filter(([, value]) => !spellings(value).some((form) => far.includes(form)));
    // Keys that sign are not sent, and what fails, has expired or is for later is not used.
    expect(unused.map(([name]) => name).sort()).toEqual([
      'age identity',
      'aws secret key',
      'expired access token',
      'failing',
      'private key',
      'rotated by oauth2.googleapis.com',
      'rotated by platform.claude.com',
    ]);
    expect(far).toMatch(/^authorization: AWS4-HMAC-SHA256 Credential=AKIAPLANTED234567ABC\//im);
    expect(ground.wrong.bytes).toBe('');
  });

  test('much was refused and much failed', () => {
    const door = written.filter(({ place }) => place === 'door').map(({ text }) => text);
    const codes = new Set(
      door.flatMap((text) => [...text.matchAll(/x-sallyport-refused: *([\w.-]+)/gi)].map(([, code]) => code)),
    );
    for (const code of [
      'credential.unreadable',
      'malformed.path',
      'mismatch.authority',
      'domain.plain-http',
      'push.protected-branch',
      'repo.not-allowed',
      'upstream.certificate',
      'upstream.protocol',
    ]) {
      expect(codes).toContain(code);
    }
    const journal = search()
      .placesWith('["renew",')
      .filter((place) => place.startsWith('state/journal/'));
    expect(journal).not.toEqual([]);
  });

  test('none of them is in anything that was said or written', () => {
    expect(search().found()).toEqual([]);
  });

  test('a crash leaves no core file and no report, and a signal opens no debugger', () => {
    expect(readdirSync(ground.standing)).toEqual([]);
    expect(search().placesWith('Debugger listening')).toEqual([]);
  });

  test('it does not start where Node would write its memory down', async () => {
    const { code, stderr } = await ground.run(['up'], '', '--heapsnapshot-signal=SIGUSR2');
    expect(code).toBe(1);
    expect(stderr).toContain('Start it without --heapsnapshot-signal');
  });

  test('every place was looked at: what is no secret is found there', () => {
    const looking = search();
    for (const place of ['door', 'output', 'command line', 'admin', 'sandbox']) {
      expect(looking.placesWith(canary.path), place).toContain(place);
    }
    expect(looking.placesWith(canary.argument)).toContain('children');
    expect(looking.placesWith('SALLYPORT_')).toContain('sandbox');
    expect(looking.placesWith('sallyport_requests_total')).toContain('metrics');
    expect(looking.placesWith('main.cjs')).toContain('process');
    const places = looking.placesWith('').join('\n');
    expect(places).toMatch(/^state\/journal\/.*\.jsonl$/m);
    expect(places).toMatch(/^state\/run\.log$/m);
  });

  test('a copy in any of these places is found', () => {
    const state = join(ground.command.home, 'state');
    const files = ['run.log', 'spool/left', 'journal/more.jsonl'].map((name) => join(state, name));
    const value = ground.planted.get('filed')!;
    for (const path of [...files, join(ground.standing, 'core')]) writeFileSync(path, `x${encodeURIComponent(value)}x`);
    const looking = search();
    const places = new Set(written.map(({ place }) => place));
    for (const place of places) looking.add(place, JSON.stringify({ Authorization: value }));
    expect(looking.found()).toEqual(
      [...places, 'standing/core', 'state/run.log', 'state/spool/left', 'state/journal/more.jsonl']
        .map((place) => `filed in ${place}`)
        .sort(),
    );
  });
});
