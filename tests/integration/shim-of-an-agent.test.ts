import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Wire } from '../support/wire.ts';
import { openPretendDoor, type PretendDoor } from '../unit/sandbox/shim/pretend-door.ts';
import { binding, makeIdentities } from '../unit/sandbox/shim/pretend-identities.ts';
import { agentUid, curlAs, makeShimGround, otherUid, runAs, type ShimGround, shimUid } from './shim-ground.ts';

const identities = makeIdentities();
let ground: ShimGround;
let door: PretendDoor;

beforeAll(async () => {
  ground = makeShimGround();
  door = await openPretendDoor(identities);
});
afterEach(() => void door.seen.splice(0));
afterAll(async () => {
  await ground.remove();
  await door.close();
});

const anyPort = ['--listen', '127.0.0.1:0'];
const options = (identity: string, gateway = `127.0.0.1:${door.port}`): string[] => [
  ...['--gateway', gateway, '--identity', identity, '--for-uid', String(agentUid)],
];

describe('a shim beside an agent', () => {
  test('says what it is once it is ready, and leads the agent to the door under the name of its sandbox', async () => {
    const identity = ground.putIdentity(identities.identity(), 'plain');
    const shim = await ground.start([...options(identity), ...anyPort]);
    expect(shim.output()).toMatch(
      new RegExp(
        `^shim for sandbox box: 127\\.0\\.0\\.1:\\d+ -> 127\\.0\\.0\\.1:${door.port}, certificate until \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\\n$`,
      ),
    );
    expect(await curlAs(agentUid, shim.proxyUrl)).toBe(`URI:sallyport:sandbox/box/${binding} 200`);
    expect(door.seen).toMatchObject([{ protocol: 'http/1.1', name: `URI:sallyport:sandbox/box/${binding}` }]);
  });

  test('serves several uids when it is told to, and a Unix socket as well', async () => {
    const identity = ground.putIdentity(identities.identity(), 'unix');
    const run = join(ground.folder, 'run');
    mkdirSync(run);
    chownSync(run, shimUid, shimUid);
    const socket = join(run, 'shim.sock');
    await ground.start([...options(identity), '--for-uid', '54324', '--listen', `unix:${socket}`]);
    const ask = async (uid: number): Promise<string> => {
      const asked = ['curl', '-sS', '-m', '30', '--unix-socket', socket, '-w', ' %{http_code}', 'http://a.example/'];
      return (await runAs(uid, asked)).stdout;
    };
    expect(await ask(agentUid)).toMatch(/^URI:.* 200$/);
    expect(await ask(54_324)).toMatch(/^URI:.* 200$/);
    expect(await ask(otherUid)).toMatch(/does not serve uid 54323.* 403$/s);
    const second = await ground.refused([...options(identity), '--listen', `unix:${socket}`]);
    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining('another shim listens on') });
  });

  test('answers 502 in words while there is no gateway; the reason is in its own log alone', async () => {
    const identity = ground.putIdentity(identities.identity(), 'alone');
    const shim = await ground.start([...options(identity, '127.0.0.1:1'), ...anyPort]);
    const answer = await curlAs(agentUid, shim.proxyUrl);
    expect(answer).toMatch(/ 502$/);
    const { code, error, hint, request_id } = JSON.parse(answer.slice(0, -4)) as Record<string, string>;
    expect({ code, error }).toEqual({ code: 'shim.gateway', error: 'the shim cannot reach the gateway' });
    expect(hint).toContain('log of the shim');
    expect(answer).not.toContain('nothing listens there');
    await eventually(() => shim.output().includes('nothing listens there'), 'the log says why');
    expect(shim.output()).toContain(request_id);
  });

  test('lets what is open finish when it is told to end, and takes nothing new', async () => {
    const identity = ground.putIdentity(identities.identity(), 'ending');
    // The one test in which the test itself is the agent: it holds a connection open.
    const shim = await ground.start([...options(identity), '--for-uid', '0', ...anyPort]);
    expect(shim.output()).toContain('serves uid 0');
    const client = connect(shim.port, '127.0.0.1');
    await once(client, 'connect');
    const wire = new Wire(client);
    wire.send('GET http://a.example/ HTTP/1.1\r\n\r\n');
    await wire.answer();
    shim.kill('SIGTERM');
    await eventually(async () => (await curlAs(agentUid, shim.proxyUrl)) === ' 000', 'no new ones');
    wire.send('GET http://a.example/again HTTP/1.1\r\n\r\n');
    expect((await wire.answer()).head).toContain('200 OK');
    client.end();
    expect(await shim.ended).toBe(0);
  });
});

describe('an identity', () => {
  test('past its half is renewed at the start and written back, and a restart uses the new one', async () => {
    const files = identities.identity({ from: -50, until: 10 });
    const identity = ground.putIdentity(files, 'old');
    const shim = await ground.start([...options(identity), ...anyPort]);
    await eventually(() => shim.output().includes('the certificate was renewed'), 'it is renewed');
    await eventually(() => readFileSync(join(identity, 'key.pem'), 'utf8') !== files.key, 'it is written');
    expect(statSync(join(identity, 'key.pem'))).toMatchObject({ uid: shimUid, mode: 0o100600 });
    await curlAs(agentUid, shim.proxyUrl);
    const [renewal, first] = door.seen.splice(0);
    expect(renewal?.protocol).toBe('sallyport-identity/1');
    expect(first?.serial).not.toBe(renewal?.serial);
    shim.kill('SIGTERM');
    expect(await shim.ended).toBe(0);
    const again = await ground.start([...options(identity), ...anyPort]);
    await curlAs(agentUid, again.proxyUrl);
    expect(door.seen).toMatchObject([{ protocol: 'http/1.1', serial: first?.serial }]);
  });

  test('in a folder that cannot be written is renewed in memory, and that is said', async () => {
    const files = identities.identity({ from: -50, until: 10 });
    const identity = ground.putIdentity(files, 'read-only');
    chownSync(identity, 0, 0);
    chmodSync(identity, 0o755);
    const shim = await ground.start([...options(identity), ...anyPort]);
    await eventually(() => shim.output().includes('in memory only'), 'it is said');
    expect(readFileSync(join(identity, 'key.pem'), 'utf8')).toBe(files.key);
    await curlAs(agentUid, shim.proxyUrl);
    expect(door.seen[1]?.serial).not.toBe(door.seen[0]?.serial);
  });

  test('that has ended does not start a shim, and the words say what to do', async () => {
    const identity = ground.putIdentity(identities.identity({ from: -70, until: -10 }), 'ended');
    const { code, stderr } = await ground.refused([...options(identity), ...anyPort]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/the certificate of the sandbox box ended at .*\nRegister the sandbox again/);
  });
});
