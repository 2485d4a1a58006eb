// Another user of the host who can reach the socket (its modes were loosened by mistake) must still get nothing: the
// kernel says who connects, and a request is not even parsed.
import { spawn } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PeerCredentials, readPeerCredentials } from '../../../src/kit/process/peer-credentials.ts';
import { type Running, startFake } from '../../unit/gateway/admin/fake-ports.ts';

const nobody = 65534;
const request = 'PUT /internal/credentials/anthropic HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nstolen';

let gateway: Running;
let seen: PeerCredentials[];
let pretended: Partial<PeerCredentials> | null;

beforeEach(async () => {
  seen = [];
  pretended = null;
  gateway = await startFake({
    identifyPeer: async (socket) => {
      const real = await readPeerCredentials(socket);
      const peer = { ...real, ...pretended };
      seen.push(peer);
      return peer;
    },
  });
  for (const directory of [gateway.home, `${gateway.home}/run`]) chmodSync(directory, 0o711);
  chmodSync(gateway.socketPath, 0o666);
});

afterEach(() => gateway.stop());

/** Sends the request as another user where we may become one (root), else as ourselves with the kernel's word replaced. */
async function askAs(uid: number, gid: number): Promise<string> {
  if (process.geteuid?.() !== 0) {
    pretended = { uid, gid };
    return text(connect(gateway.socketPath).end(request).setEncoding('utf8'));
  }
  const script = `
    const socket = require('node:net').connect(process.argv[1]);
    socket.on('error', (error) => console.log(error.code));
    socket.pipe(process.stdout);
    socket.write(process.argv[2]);`;
  const child = spawn(process.execPath, ['-e', script, gateway.socketPath, request], {
    uid,
    gid,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return text(child.stdout);
}

describe('the admin socket serves its owner and root only', () => {
  // A group is no user: a file of the group would let it in, the kernel's word about the uid does not.
  test.each([
    ['of another group', nobody],
    ['of the same group', process.getegid!()],
  ])('another user %s gets 403, a closed connection, and sets nothing', async (_, gid) => {
    const answer = await askAs(nobody, gid);
    expect(seen).toMatchObject([{ uid: nobody, gid }]);
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(answer).toContain('admin.peer');
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(gateway.ports.secrets.size).toBe(0);
    expect(gateway.faults.join()).toContain(`user ${nobody}`);
  });

  test('its owner is served, also with another group', async () => {
    pretended = { gid: nobody };
    const whole = request.replace('stolen', 'owned');
    const answer = await text(connect(gateway.socketPath).end(whole).setEncoding('utf8'));
    expect(answer).toMatch(/^HTTP\/1\.1 204 /);
    expect(gateway.ports.secrets.get('anthropic')).toBe('owned');
  });

  test('a peer that the kernel cannot name is refused as well', async () => {
    const blind = await startFake({ identifyPeer: () => Promise.reject(new Error('no such call here')) });
    const answer = await text(connect(blind.socketPath).end(request).setEncoding('utf8'));
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(blind.ports.secrets.size).toBe(0);
    await blind.stop();
  });
});
