import { once } from 'node:events';
import { chmodSync, statSync } from 'node:fs';
import { request, type Server } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DockerApi } from '../../../src/kit/docker/docker-api.ts';
import { createDockerView } from '../../../src/kit/docker/docker-view.ts';
import { listenOnUnixSocket } from '../../../src/kit/process/unix-listen.ts';
import { eventually } from '../../support/eventually.ts';
import {
  sandboxNetwork,
  startWitness,
  startWitnessWorld,
  type WitnessedGateway,
  type WitnessWorld,
} from '../../support/witness-ground.ts';

const secret = 'TOP-SECRET-VALUE';
let world: WitnessWorld;
let view: Server;
let path: string;

interface Reply {
  readonly status: number;
  readonly text: string;
}

beforeAll(async () => {
  world = await startWitnessWorld();
  const hidden = ['--env', `KEY=${secret}`, '--label', `other=${secret}`, '--volume', `${world.folder}:/${secret}`];
  await world.runContainer('agent', '--network', sandboxNetwork, '--ip', '172.30.5.50', ...hidden);
  path = join(world.folder, 'view.sock');
  view = createDockerView(new DockerApi(world.socket), () => {});
  await listenOnUnixSocket(view, path, { mode: 0o660 });
});

afterAll(async () => {
  view?.close();
  view?.closeAllConnections();
  await world?.stop();
});

/** The path goes out as it is written. */
async function ask(target: string, method = 'GET', socketPath = path): Promise<Reply> {
  const asking = request({ socketPath, method, path: target, agent: false, headers: { host: 'docker' } });
  asking.end(method === 'POST' ? '{}' : undefined);
  const [answer] = await once(asking, 'response');
  let text = '';
  for await (const chunk of answer) text += chunk;
  return { status: answer.statusCode, text };
}

describe('the view of Docker shows what the witness needs', () => {
  test.each(['/_ping', '/version', '/containers/json', '/v1.40/containers/agent/json', `/networks/${sandboxNetwork}`])(
    '%s is answered without anything secret',
    async (target) => {
      const reply = await ask(target);
      expect(reply.status).toBe(200);
      expect(reply.text).not.toContain(secret);
      expect(reply.text).not.toMatch(/"(?:Env|Mounts|Cmd|Args|Binds|Path|Entrypoint|GraphDriver)"/);
    },
  );

  test('Docker itself would have told it, so that the test can fail', async () => {
    const reply = await ask('/containers/agent/json', 'GET', world.socket);
    expect(reply.text).toContain(secret);
    expect((await ask('/containers/json', 'GET', world.socket)).text).toContain(secret);
  });

  test('events come without the labels of others', async () => {
    const asking = request({ socketPath: path, path: '/events', agent: false });
    asking.end();
    const [answer] = await once(asking, 'response');
    let text = '';
    answer.on('data', (chunk: Buffer) => {
      text += chunk;
    });
    await world.must('rename', 'agent', 'agent2');
    await world.must('rename', 'agent2', 'agent');
    await eventually(() => text.split('rename').length > 2, 'both events were told');
    asking.destroy();
    expect(text).not.toContain(secret);
    expect(text).not.toContain('"image"');
  });

  test('an image by its id, without anything but its own labels', async () => {
    const changes = [`ENV KEY=${secret}`, `LABEL other=${secret}`, 'LABEL sallyport.repos=o/r', 'CMD ["sleep"]'];
    await world.importImage('telling', { programs: ['sleep'] }, changes);
    const id = await world.must('image', 'inspect', '--format', '{{.Id}}', 'telling');
    const reply = await ask(`/images/${id}/json`);
    expect(reply).toMatchObject({ status: 200 });
    expect(JSON.parse(reply.text).Config).toEqual({ Labels: { 'sallyport.repos': 'o/r' } });
    expect(reply.text).not.toContain(secret);
    expect((await ask(`/images/${id}/json`, 'GET', world.socket)).text).toContain(secret);
  });

  test('a container it has not is a 404', async () => {
    expect(await ask('/containers/nobody/json')).toMatchObject({ status: 404 });
  });

  test('it serves its owner and its group', () => {
    expect(statSync(path).mode & 0o777).toBe(0o660);
  });
});

describe('and nothing else', () => {
  const refused: (readonly [string, string])[] = [
    ['POST', '/containers/create'],
    ['POST', '/v1.40/containers/create'],
    ['POST', '/containers/agent/exec'],
    ['POST', '/containers/agent/kill'],
    ['DELETE', '/containers/agent'],
    ['PUT', '/containers/agent/archive?path=/'],
    ['HEAD', '/containers/json'],
    ['OPTIONS', '/containers/json'],
    ['GET', '/containers/agent/archive?path=/'],
    ['GET', '/containers/agent/logs?stdout=1'],
    ['GET', '/containers/agent/top'],
    ['GET', '/containers/agent/export'],
    ['GET', '/containers/agent/json/../archive'],
    ['GET', '/containers/../info'],
    ['GET', '/containers/..%2finfo/json'],
    ['GET', '/containers/agent%2farchive%3fpath=%2f/json'],
    ['GET', '/containers/%61gent/json'],
    ['GET', '/containers//json'],
    ['GET', '//containers/agent/json'],
    ['GET', '/containers/agent//json'],
    ['GET', '/containers/./json'],
    ['GET', '/containers/agent/json/'],
    ['GET', '/containers/agent/json#/archive'],
    ['GET', '/v1.40/v1.40/containers/json'],
    ['GET', '/networks'],
    ['GET', '/info'],
    ['GET', '/images/json'],
    ['GET', '/images/waits/json'],
    ['GET', `/images/sha256:${'0'.repeat(64)}/history`],
    ['GET', `/images/sha256:${'0'.repeat(64)}/get`],
    ['GET', `/images/sha256:${'0'.repeat(64)}%2f..%2fget/json`],
    ['GET', '/secrets'],
    ['GET', '/'],
    ['GET', 'http://docker/containers/json'],
    ['GET', 'http://docker/containers/agent/archive?path=/'],
    ['GET', '*'],
  ];

  test.each(refused)('%s %s is refused in words', async (method, target) => {
    const before = await world.containers();
    const reply = await ask(target, method);
    expect(reply.status).toBe(403);
    if (method !== 'HEAD') expect(reply.text).toContain('this is a view of Docker that answers');
    expect(await world.containers()).toEqual(before);
  });

  test('an upgrade, a CONNECT and a second request hidden behind the first reach nobody', async () => {
    const send = async (text: string): Promise<string> => {
      const socket = connect(path);
      socket.write(text);
      let answer = '';
      socket.on('data', (chunk: Buffer) => {
        answer += chunk;
      });
      await once(socket, 'close');
      return answer;
    };
    const upgrade = 'Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 2\r\n\r\n{}';
    expect(await send(`POST /containers/agent/attach HTTP/1.1\r\nHost: d\r\n${upgrade}`)).toMatch(/^HTTP\/1\.1 403/);
    expect(await send('CONNECT docker:80 HTTP/1.1\r\nHost: d\r\n\r\n')).not.toContain('200');
    const two = await send(
      'GET /version HTTP/1.1\r\nHost: d\r\n\r\nPOST /containers/agent/kill HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n',
    );
    expect(two.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(await world.containers()).toEqual(['agent running']);
  });
});

describe('a gateway that has the view alone', () => {
  let gateway: WitnessedGateway;

  afterAll(() => gateway?.stop());

  test('registers, confirms and hears by it as by Docker itself', async () => {
    gateway = await startWitness({ socket: path, registerLabelled: true });
    await gateway.register({ id: 'agent', container_id: 'agent' });
    expect(await gateway.call('172.30.5.50')).toBe('agent');
    await world.runContainer('labelled', '--network', sandboxNetwork, '--label', 'sallyport.repos=o/r');
    await eventually(() => gateway.registry.find('labelled'), 'it is registered by its label');
    await world.must('pause', 'agent');
    await eventually(() => gateway.registry.find('agent') === null, 'its pause is heard');
    await world.must('unpause', 'agent');
  });

  test('does not believe a socket that belongs to somebody else', async () => {
    const script = 'require("net").createServer().listen(process.argv[1], () => console.log("up"))';
    const planted = join(world.folder, 'home', 'planted.sock');
    chmodSync(join(world.folder, 'home'), 0o777);
    const child = world.start('setpriv', [
      ...['--reuid=54321', '--regid=54321', '--clear-groups', process.execPath, '-e', script, planted],
    ]);
    await child.stdout.until('up');
    await expect(new DockerApi(planted).version()).rejects.toThrow('belongs to user 54321');
    child.kill();
  });
});
