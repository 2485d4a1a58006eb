import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DockerApi } from '../../../../src/kit/docker/docker-api.ts';
import { createDockerView } from '../../../../src/kit/docker/docker-view.ts';
import { eventually } from '../../../support/eventually.ts';

let folder: string;
const opened: { close(): void; closeAllConnections(): void }[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-docker-view-'));
});

afterEach(() => {
  for (const one of opened.splice(0)) {
    one.close();
    one.closeAllConnections();
  }
  rmSync(folder, { recursive: true });
});

/** A Docker that answers so, and a view of it. Returns the path of the view, and what it reported. */
async function viewOf(listener: RequestListener): Promise<{ path: string; faults: unknown[] }> {
  const faults: unknown[] = [];
  const docker = createServer(listener);
  const view = createDockerView(new DockerApi(join(folder, 'docker.sock')), (error) => faults.push(error));
  opened.push(docker, view);
  const path = join(folder, 'view.sock');
  await new Promise<void>((resolve) => docker.listen(join(folder, 'docker.sock'), resolve));
  await new Promise<void>((resolve) => view.listen(path, resolve));
  return { path, faults };
}

describe('the view of Docker', () => {
  test('answers as many questions as a gateway with many containers has at once', async () => {
    const { path } = await viewOf((_request, response) => {
      setTimeout(() => response.end('{"Version":"1","ApiVersion":"1"}'), 100);
    });
    const api = new DockerApi(path);
    const answers = await Promise.allSettled(Array.from({ length: 300 }, () => api.version()));
    expect(answers.filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  test('lets go of Docker’s events when whoever asked for them has gone before the answer', async () => {
    const streams = new Set<ServerResponse>();
    let asked = 0;
    let answer = (): void => {};
    const { path } = await viewOf((_request, response) => {
      asked++;
      streams.add(response);
      response.once('close', () => streams.delete(response));
      answer = () => response.flushHeaders();
    });
    const asking = request({ socketPath: path, path: '/events', agent: false });
    asking.on('error', () => {});
    asking.end();
    await eventually(() => asked === 1, 'Docker is asked');
    asking.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer();
    await eventually(() => streams.size === 0, 'nobody listens to Docker any more');
  });

  test('has no fault in a container that is gone', async () => {
    const { path, faults } = await viewOf((_request, response) => {
      response.statusCode = 404;
      response.end('{"message":"no such container"}');
    });
    await expect(new DockerApi(path).inspectContainer('a')).rejects.toMatchObject({ fault: 'unknown' });
    expect(faults).toEqual([]);
  });
});
