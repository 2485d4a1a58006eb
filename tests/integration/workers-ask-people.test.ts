import { type ClientRequest, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Question } from '../../src/path/approvals.ts';
import { eventually } from '../support/eventually.ts';
import type { Wire } from '../support/wire.ts';
import {
  ask,
  host,
  registered,
  startWorkersGround,
  type WorkersGround,
  workersLine,
} from '../support/workers-ground.ts';

let ground: WorkersGround;
let watcher: ClientRequest;

beforeAll(async () => {
  ground = await startWorkersGround({ allow: [{ host, ask: true }] });
  await registered(ground, { id: 'one', container_ip: '127.0.0.1' });
  // Somebody looks on: else nobody is asked.
  watcher = httpRequest({ socketPath: `${ground.command.home}/state/run/admin.sock`, path: '/internal/watch' });
  await new Promise<void>((resolve, reject) => {
    watcher.on('response', (response) => {
      response.resume();
      response.on('error', () => {});
      resolve();
    });
    watcher.on('error', reject);
    watcher.end();
  });
});

afterAll(async () => {
  watcher?.destroy();
  await ground?.remove();
});

async function waiting(count: number): Promise<readonly Question[]> {
  const list = async (): Promise<readonly Question[] | null> => {
    const { questions } = (await ground.admin('GET', '/internal/questions')).json<{ questions: Question[] }>();
    return questions.length === count ? questions : null;
  };
  return eventually(list, `${count} requests wait`);
}

async function answer(question: Question, body: object): Promise<void> {
  const reply = await ground.admin('POST', `/internal/questions/${question.id}`, body);
  if (reply.status !== 200) throw new Error(`answer: ${reply.status} ${reply.body}`);
}

/** Connections that both workers serve: they go to one and the other in turn. */
async function openSome(count = 4): Promise<Wire[]> {
  const wires: Wire[] = [];
  for (let i = 0; i < count; i++) wires.push(await ground.open());
  return wires;
}

/** The process is in the id of the request. */
const servedBy = (questions: readonly Question[]): Set<string> =>
  new Set(questions.map(({ requestId }) => requestId!.split('-')[0]!));

const forMinutes = { answer: 'approve', for: 'minutes', minutes: 5, scope: 'path' };

describe('a gateway with two workers, whose policy asks a person', () => {
  test('holds a request in the worker that serves it, and lets it go when a person has said yes', async () => {
    const wire = await ground.open();
    const status = ask(wire, '/once');
    const [question] = await waiting(1);
    expect(question).toMatchObject({ sandbox: 'one', method: 'GET', host, path: '/once', rule: 'allow[0]' });
    expect(ground.keys).toHaveLength(0);
    await answer(question!, { answer: 'approve', for: 'once' });
    expect(await status).toBe(200);
    expect(ground.keys).toHaveLength(1);
    await waiting(0);
  });

  test('asks about whatever method a sandbox thinks up: its worker is not taken for one that talks nonsense', async () => {
    const wire = await ground.open();
    const method = 'X'.repeat(2_000);
    wire.send(`GET /long HTTP/1.1\r\nHost: ${host}\r\nX-HTTP-Method-Override: ${method}\r\n\r\n`);
    const [question] = await waiting(1);
    expect(question!.method).toMatch(/^GET \(as X+…$/);
    await answer(question!, { answer: 'deny' });
    expect(await wire.until('\r\n')).toContain(' 403 ');
    wire.socket.destroy();
  });

  test('has what was approved for minutes in force in both, and what was withdrawn in neither', async () => {
    const wires = await openSome();
    const first = ask(wires[0]!, '/some');
    const [question] = await waiting(1);
    await answer(question!, forMinutes);
    expect(await first).toBe(200);
    const both = await Promise.all(wires.map((wire) => ask(wire, '/some')));
    expect(both).toEqual([200, 200, 200, 200]);

    const { approvals } = (await ground.admin('GET', '/internal/approvals')).json<{ approvals: { id: string }[] }>();
    expect((await ground.admin('DELETE', `/internal/approvals/${approvals[0]!.id}`)).status).toBe(204);
    const again = wires.map((wire) => ask(wire, '/some'));
    const questions = await waiting(wires.length);
    expect(servedBy(questions).size).toBe(2);
    for (const one of questions) await answer(one, { answer: 'deny' });
    expect(await Promise.all(again)).toEqual([403, 403, 403, 403]);
  });

  test('tells the agent inside what both have refused, whichever it asks', async () => {
    const refusedBy = (): Promise<Set<string>> =>
      new Promise((resolve, reject) => {
        const { port } = ground.gateway;
        const socket = connect(port, '127.0.0.1');
        socket.on('error', reject);
        socket.end(
          'GET http://sallyport.internal/why HTTP/1.1\r\nHost: sallyport.internal\r\nConnection: close\r\n\r\n',
        );
        text(socket).then((page) => resolve(new Set(page.match(/[0-9a-f]{10}(?=-\d+)/g) ?? [])), reject);
      });
    for (let i = 0; i < 2; i++)
      await eventually(async () => (await refusedBy()).size === 2, 'refusals of both are there');
  });

  test('lets a sandbox learn in both, and another that has its name later in neither', async () => {
    const codeOfPost = async (): Promise<string> => {
      const socket = connect(ground.gateway.port, '127.0.0.1');
      socket.write(
        'POST http://new.example/ HTTP/1.1\r\nHost: new.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
      );
      return /"code":"([^"]+)"/.exec(await text(socket))?.[1] ?? '';
    };
    // A write is refused in any case: by what, says whether the sandbox learns there.
    const codes = async (): Promise<Set<string>> => {
      const seen = new Set<string>();
      for (let i = 0; i < 4; i++) seen.add(await codeOfPost());
      return seen;
    };
    expect(await codes()).toEqual(new Set(['domain.not-allowed']));
    expect((await ground.admin('POST', '/internal/learning', { sandbox: 'one' })).status).toBe(204);
    expect(await codes()).toEqual(new Set(['method.not-allowed']));
    expect((await ground.admin('DELETE', '/internal/containers/one')).status).toBe(204);
    await registered(ground, { id: 'one', container_ip: '127.0.0.1' });
    expect(await codes()).toEqual(new Set(['domain.not-allowed']));
  });

  test('has nothing approved any more for a sandbox that is unregistered, in either', async () => {
    const wire = await ground.open();
    const first = ask(wire, '/gone');
    const [question] = await waiting(1);
    await answer(question!, forMinutes);
    expect(await first).toBe(200);
    expect((await ground.admin('DELETE', '/internal/containers/one')).status).toBe(204);
    await registered(ground, { id: 'one', container_ip: '127.0.0.1' });
    const wires = await openSome();
    const statuses = wires.map((one) => ask(one, '/gone'));
    const questions = await waiting(wires.length);
    expect(servedBy(questions).size).toBe(2);
    for (const one of questions) await answer(one, { answer: 'deny' });
    expect(await Promise.all(statuses)).toEqual([403, 403, 403, 403]);
  });

  test('withdraws what a worker has asked when that worker is killed, and nothing else', async () => {
    const wires = await openSome(2);
    const kept = ask(wires[0]!, '/kept');
    await answer((await waiting(1))[0]!, forMinutes);
    expect(await kept).toBe(200);
    const statuses = wires.map((wire) => ask(wire, '/held').catch(() => 0));
    const before = await waiting(2);
    expect(servedBy(before).size).toBe(2);
    const [victim] = ground.workers();
    process.kill(victim!, 'SIGKILL');
    const [left] = await waiting(1);
    expect(before.map(({ id }) => id)).toContain(left!.id);
    await answer(left!, { answer: 'approve', for: 'once' });
    expect((await Promise.all(statuses)).sort()).toEqual([0, 200]);

    // The one in its place begins with what was approved before.
    const isBack = async (): Promise<boolean> => (await workersLine(ground)) === '2 of 2 live, restarted once';
    await eventually(isBack, 'there are two again');
    const anew = await openSome();
    expect(await Promise.all(anew.map((wire) => ask(wire, '/kept')))).toEqual([200, 200, 200, 200]);
  });
});
