import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DockerApi } from '../../../../src/kit/docker/docker-api.ts';
import { DockerEvents } from '../../../../src/kit/docker/docker-events.ts';
import type { DockerEvent } from '../../../../src/kit/docker/docker-shapes.ts';
import { eventually } from '../../../support/eventually.ts';

let folder: string;
let socket: string;
const opened: { close(): void }[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-docker-api-'));
  socket = join(folder, 'docker.sock');
});

afterEach(() => {
  for (const one of opened.splice(0)) one.close();
  rmSync(folder, { recursive: true });
});

async function pretend(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  opened.push({
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  return server;
}

const event = (id: string): string =>
  `${JSON.stringify({ Type: 'container', Action: 'die', Actor: { ID: id, Attributes: { name: 'n', image: 'i' } }, timeNano: 5 })}\n`;

describe('Docker that cannot be asked is told apart from Docker that says no', () => {
  test('nobody listens', async () => {
    await expect(new DockerApi(socket).version()).rejects.toMatchObject({ fault: 'absent' });
  });

  test('somebody else listens', async () => {
    const server = createNetServer((client) => client.end('SSH-2.0-nothing\r\n'));
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    opened.push({ close: () => server.close() });
    await expect(new DockerApi(socket).version()).rejects.toMatchObject({ fault: 'not-docker' });
  });

  test.each(['<html>', '[]', '{"Version":1}'])('an answer that is not Docker’s: %s', async (text) => {
    await pretend((_request, response) => response.end(text));
    await expect(new DockerApi(socket).version()).rejects.toMatchObject({ fault: 'not-docker' });
  });

  test('it does not answer in time, or not to the end', async () => {
    await pretend((request, response) => {
      if (request.url === '/containers/json') response.write('[');
    });
    const api = new DockerApi(socket, 50);
    await expect(api.version()).rejects.toMatchObject({ fault: 'slow' });
    await expect(api.listContainers()).rejects.toMatchObject({ fault: 'slow' });
  });

  test('it hangs up in the middle of another protocol', async () => {
    const server = createNetServer((client) => {
      client.on('error', () => {});
      client.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    opened.push({ close: () => server.close() });
    await expect(new DockerApi(socket, 200).version()).rejects.toMatchObject({ fault: 'failed' });
  });

  test('it answers without end', async () => {
    await pretend((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    await expect(new DockerApi(socket).version()).rejects.toMatchObject({ fault: 'failed' });
  });

  test('it has no such container, or has a fault of its own: its words are passed on', async () => {
    await pretend((request, response) => {
      response.statusCode = request.url === '/containers/a/json' ? 404 : 500;
      response.end('{"message":"in its own words"}');
    });
    const api = new DockerApi(socket);
    await expect(api.inspectContainer('a')).rejects.toMatchObject({ fault: 'unknown', message: 'in its own words' });
    await expect(api.inspectContainer('b')).rejects.toMatchObject({ fault: 'failed', message: 'in its own words' });
  });

  test('what is asked about cannot become another question', async () => {
    const asked: string[] = [];
    await pretend((request, response) => {
      asked.push(request.url ?? '');
      response.end('{}');
    });
    await new DockerApi(socket).inspectContainer('../x?all=1#').catch(() => {});
    expect(asked).toEqual(['/containers/..%2Fx%3Fall%3D1%23/json']);
  });
});

describe('the stream of events', () => {
  test('is read across any split, and only the fields we know are kept', async () => {
    const line = event('a'.repeat(64));
    await pretend((_request, response) => {
      response.write(line.slice(0, 20));
      setTimeout(() => response.write(line.slice(20) + line), 10);
    });
    const seen: DockerEvent[] = [];
    const stream = await new DockerApi(socket).openEvents(1, { event: (one) => seen.push(one), ended: () => {} });
    opened.unshift(stream);
    await eventually(() => seen.length === 2, 'both came');
    expect(seen[0]?.Actor.Attributes).toEqual({ name: 'n' });
  });

  test.each(['not json\n', '{"Type":1}\n', 'x'.repeat(2 * 1024 * 1024)])(
    'ends at what it cannot read',
    async (text) => {
      await pretend((_request, response) => response.write(text));
      const ended = await new Promise<Error>((resolve, reject) => {
        new DockerApi(socket).openEvents(1, { event: () => {}, ended: resolve }).catch(reject);
      });
      expect(ended).toMatchObject({ name: 'DockerError' });
    },
  );

  test('is begun again when it breaks off, and whoever listens is told both times', async () => {
    let streams = 0;
    await pretend((_request, response) => {
      streams++;
      response.flushHeaders();
      if (streams === 1) setTimeout(() => response.destroy(), 10);
    });
    const states: string[] = [];
    const events = new DockerEvents({
      api: new DockerApi(socket),
      onEvent: () => {},
      onUp: () => states.push('up'),
      onDown: () => states.push('down'),
    });
    opened.unshift(events);
    await events.ready();
    await eventually(() => states.join() === 'up,down,up', 'it is up again');
    expect(events.isUp).toBe(true);
  });

  test('is not believed when it is open and nothing else answers: a Docker that hangs says nothing either', async () => {
    let hangs = false;
    await pretend((request, response) => {
      if (hangs) return;
      if (request.url === '/version') response.end('{"Version":"1","ApiVersion":"1"}');
      else response.flushHeaders();
    });
    const states: string[] = [];
    const events = new DockerEvents({
      // Longer than a busy machine lets one wait.
      api: new DockerApi(socket, 2_000),
      onEvent: () => {},
      onUp: () => states.push('up'),
      onDown: ({ fault }) => states.push(fault),
      beatMs: 20,
    });
    opened.unshift(events);
    await events.ready();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(states).toEqual(['up']);
    hangs = true;
    await eventually(() => states.length > 1, 'its silence is noticed');
    expect([states[1], events.isUp]).toEqual(['slow', false]);
    hangs = false;
    await eventually(() => events.isUp, 'it is up again');
  });

  test('is not tried more often because it is asked for more often', async () => {
    let attempts = 0;
    await pretend((_request, response) => {
      attempts++;
      response.statusCode = 500;
      response.end('{"message":"no"}');
    });
    const events = new DockerEvents({
      api: new DockerApi(socket),
      onEvent: () => {},
      onUp: () => {},
      onDown: () => {},
    });
    opened.unshift(events);
    for (let i = 0; i < 50; i++) await events.ready().catch(() => {});
    expect(attempts).toBeLessThan(3);
    await eventually(() => attempts > 2, 'it goes on trying by itself');
    events.close();
    await expect(events.ready()).rejects.toThrow('nobody listens any more');
  });
});
