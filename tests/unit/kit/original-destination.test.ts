import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { loadOriginalDestination, plainSpelling } from '../../../src/kit/original-destination.ts';

describe('where a connection was going', () => {
  test('nothing is said of a connection that is gone', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const client = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    socket.destroy();
    expect((await loadOriginalDestination())?.(socket)).toBeNull();
    client.destroy();
    server.close();
  });
});

describe('an address has one spelling', () => {
  test.each([
    ['2001:DB8:0:0:0:0:0:2', '2001:db8::2'],
    ['::0001', '::1'],
    ['172.30.0.2', '172.30.0.2'],
  ])('%s is %s', (address, expected) => {
    expect(plainSpelling(address)).toBe(expected);
  });
});
