// A body without end must not fill the memory of the gateway, whether it says its length or not.
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { maxBodyBytes } from '../../../src/gateway/admin/admin-body.ts';
import { ask } from '../../unit/gateway/admin/ask.ts';
import { type Running, startFake } from '../../unit/gateway/admin/fake-ports.ts';

let gateway: Running;

beforeEach(async () => {
  gateway = await startFake();
});

afterEach(() => gateway.stop());

describe('the body of an admin request is bounded', () => {
  test('64 KiB are taken, one byte more is 413 and sets nothing', async () => {
    const fits = await ask(gateway.socketPath, 'PUT', '/internal/credentials/a', 'x'.repeat(maxBodyBytes));
    expect(fits.status).toBe(204);
    const over = await ask(gateway.socketPath, 'PUT', '/internal/credentials/b', 'x'.repeat(maxBodyBytes + 1));
    expect([over.status, over.json.code]).toEqual([413, 'admin.too-large']);
    expect([...gateway.ports.secrets.keys()]).toEqual(['a']);
  });

  test('the same without a Content-Length, and for JSON', async () => {
    const headers = { 'transfer-encoding': 'chunked', 'content-type': 'application/json' };
    const body = JSON.stringify({ container_ip: 'x'.repeat(200_000) });
    const over = await ask(gateway.socketPath, 'POST', '/internal/containers', body, headers);
    expect(over.status).toBe(413);
    expect(gateway.ports.records.size).toBe(0);
  });

  test('a body that never ends is cut off, after a bounded number of bytes', async () => {
    const socket = connect(gateway.socketPath);
    socket.write('PUT /internal/credentials/a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    let sent = 0;
    let answer = '';
    socket.on('data', (data) => {
      answer += data;
    });
    await new Promise<void>((resolve) => {
      const pump = () => {
        while (sent < 64 * 1024 * 1024 && !socket.destroyed) {
          sent += chunk.length;
          if (!socket.write(chunk)) return;
        }
        resolve();
      };
      socket.on('drain', pump);
      socket.on('error', () => resolve());
      socket.on('close', () => resolve());
      pump();
    });
    expect(sent).toBeLessThan(16 * 1024 * 1024);
    expect(answer === '' || answer.startsWith('HTTP/1.1 413')).toBe(true);
    expect(gateway.ports.secrets.size).toBe(0);
    socket.destroy();
  });

  test('a head without end is refused too', async () => {
    const answer = await ask(gateway.socketPath, 'GET', '/internal/health', null, { 'x-long': 'x'.repeat(32 * 1024) });
    expect(answer.status).toBe(431);
  });
});
