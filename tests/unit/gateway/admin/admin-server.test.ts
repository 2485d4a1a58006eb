import { lstatSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AdminClient, AdminRefused, GatewayUnreachable } from '../../../../src/gateway/admin/admin-client.ts';
import { startAdminServer } from '../../../../src/gateway/admin/admin-server.ts';
import { ask } from './ask.ts';
import { fakePorts, type Running, startFake } from './fake-ports.ts';

let gateway: Running;

beforeEach(async () => {
  gateway = await startFake();
});

afterEach(() => gateway.stop());

describe('the admin socket', () => {
  test('is born 0600 in a 0700 directory and is gone after the stop', async () => {
    const socket = lstatSync(gateway.socketPath);
    expect(socket.isSocket()).toBe(true);
    expect(socket.mode & 0o777).toBe(0o600);
    expect(lstatSync(`${gateway.home}/run`).mode & 0o777).toBe(0o700);
    await gateway.stop();
    expect(() => lstatSync(gateway.socketPath)).toThrow('ENOENT');
    gateway = await startFake();
  });

  test('is not taken from a gateway that is running', async () => {
    const options = { socketPath: gateway.socketPath, ports: fakePorts(), onFault: () => undefined };
    await expect(startAdminServer(options)).rejects.toThrow(/already running.*Stop it first/s);
    expect((await ask(gateway.socketPath, 'GET', '/internal/health')).status).toBe(200);
  });

  test('ends a followed feed when its reader goes away, and at the stop', async () => {
    const reader = request({ socketPath: gateway.socketPath, path: '/internal/audit?follow=1&limit=0', agent: false });
    reader.end();
    const response = await new Promise<NodeJS.ReadableStream>((resolve) => reader.once('response', resolve));
    response.on('error', () => undefined);
    reader.on('error', () => undefined);
    expect(gateway.ports.filters[0]?.signal.aborted).toBe(false);
    reader.destroy();
    await expect.poll(() => gateway.ports.journal).toEqual([{ ended: true }]);
    const second = new AdminClient(gateway.socketPath).lines('/internal/audit?follow=1&limit=0').next();
    await expect.poll(() => gateway.ports.filters.length).toBe(2);
    await gateway.stop();
    await expect(second).rejects.toThrow(GatewayUnreachable);
    await expect.poll(() => gateway.ports.filters[1]?.signal.aborted).toBe(true);
    gateway = await startFake();
  });
});

describe('the admin client', () => {
  test('says that the gateway is not running, and how to start it, when nobody listens', async () => {
    const socketPath = gateway.socketPath;
    await gateway.stop();
    await expect(new AdminClient(socketPath).call('GET', '/internal/health')).rejects.toThrow(GatewayUnreachable);
    gateway = await startFake();
  });

  test('sends nothing to a place that is not a socket', async () => {
    const path = `${gateway.home}/run/not-a-socket`;
    writeFileSync(path, '');
    await expect(new AdminClient(path).putRaw('/internal/credentials/a', 'x')).rejects.toThrow('is not a socket');
  });

  test('gives errors in the words of the gateway', async () => {
    const error = await new AdminClient(gateway.socketPath)
      .call('DELETE', '/internal/containers/nobody')
      .catch((e) => e);
    expect(error).toBeInstanceOf(AdminRefused);
    expect(error).toMatchObject({ status: 404, code: 'admin.not-found', hint: 'See which there are: sallyport list' });
  });
});
