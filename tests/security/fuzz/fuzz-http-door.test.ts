// Damaged requests through a whole gateway, over TLS behind a CONNECT, over HTTP/2, and straight to the door. The far side
// keeps every byte: what arrives there reads the same way to every reader, and nothing arrives that was refused.
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mutated } from '../../support/fuzz-mutations.ts';
import { fuzzSlowly, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';
import { FramePeer, headersFrame, requestFields } from '../../support/raw-http2.ts';
import { settle } from '../../support/settle.ts';
import { wordsFor } from '../../support/smuggling-case.ts';
import { framingCases } from '../../support/smuggling-framing-cases.ts';
import {
  halfRequest,
  lenientHost,
  openSmugglingGround,
  type SmugglingGround,
  statusesIn,
} from '../../support/smuggling-ground.ts';
import { http2Cases } from '../../support/smuggling-h2-cases.ts';
import { headCases } from '../../support/smuggling-head-cases.ts';
import { openTls } from '../../support/tunnel-client.ts';
import { Wire } from '../../support/wire.ts';

reportFuzz('HTTP through the door');

let ground: SmugglingGround;

beforeAll(async () => {
  ground = await openSmugglingGround();
});

afterAll(() => ground.stop());

const words = wordsFor(lenientHost);
const requests = [...framingCases(words), ...headCases(words)]
  .map(({ bytes }) => Buffer.from(bytes, 'latin1'))
  .filter(({ length }) => length < 2_000);
/** With honest ones among them: damage leaves next to nothing that may pass, and then nothing is seen to arrive. */
const damaged = fc.oneof(
  { weight: 4, arbitrary: mutated(requests) },
  { weight: 1, arbitrary: fc.constant(Buffer.from(words.get(), 'latin1')) },
);

describe('damaged requests', () => {
  test('inside a tunnel arrive in one reading, or not at all', { timeout: fuzzTimeoutMs }, async () => {
    let arrived = 0;
    await fuzzSlowly(fc.tuple(damaged, fc.constantFrom(undefined, 1, 7)), 150, async ([bytes, pieceBytes]) => {
      let text = '';
      let isClosed = false;
      const seen = await ground.watch(lenientHost, async () => {
        const wire = new Wire(await openTls(ground.gateway, `${lenientHost}:443`, { caPath: ground.gateway.caPath }));
        for (let at = 0; at < bytes.length; at += pieceBytes ?? bytes.length) {
          wire.send(bytes.toString('latin1', at, at + (pieceBytes ?? bytes.length)));
          if (pieceBytes !== undefined) await new Promise((resolve) => setImmediate(resolve));
        }
        await settled(wire);
        text = wire.received;
        isClosed = wire.ended !== 'open';
        wire.socket.destroy();
        return { statuses: statusesIn(text), mixedUp: [] };
      });
      expect(seen.mixedUp).toEqual([]);
      expect(seen.faults.filter((fault) => fault !== halfRequest)).toEqual([]);
      const passed = seen.statuses.filter((status) => status === 200).length;
      const refused = seen.statuses.length - passed;
      // One request at a time: behind a refusal that ended the connection nothing was asked, and what was refused never was.
      if (refused > 0 && isClosed) expect(seen.arrived.length, text).toBe(passed);
      arrived += seen.arrived.length;
    });
    expect(arrived).toBeGreaterThan(10);
  });

  test('over HTTP/2 arrive in one reading, or not at all', { timeout: fuzzTimeoutMs }, async () => {
    const frames = http2Cases(lenientHost).map((one) => Buffer.concat([...one.frames]));
    let arrived = 0;
    await fuzzSlowly(mutated(frames), 80, async (bytes) => {
      const seen = await ground.watch(lenientHost, async () => {
        const options = { caPath: ground.gateway.caPath, alpn: ['h2'] };
        const peer = new FramePeer(await openTls(ground.gateway, `${lenientHost}:443`, options), false);
        peer.send(bytes, headersFrame(99, requestFields(lenientHost, 'GET', '/front'), 1));
        const done = new Promise<void>((resolve) => {
          peer.onFrame = ({ type, stream }) => {
            if (stream === 99 || type === 7) resolve();
          };
          peer.socket.on('close', () => resolve());
          // A frame that says it is longer than what follows: nothing more comes, from either side.
          setTimeout(resolve, 150);
        });
        await done;
        peer.socket.destroy();
        return { statuses: [], mixedUp: [] };
      });
      expect(seen.mixedUp).toEqual([]);
      expect(seen.faults.filter((fault) => fault !== halfRequest)).toEqual([]);
      expect(seen.arrived.filter((request) => request.includes('/hidden'))).toEqual([]);
      arrived += seen.arrived.length;
    });
    expect(arrived).toBeGreaterThan(5);
  });

  test('straight to the door bring nothing down', { timeout: fuzzTimeoutMs }, async () => {
    const { host, port } = ground.gateway;
    const plain = [
      `CONNECT ${lenientHost}:443 HTTP/1.1\r\nHost: ${lenientHost}:443\r\nProxy-Authorization: Basic c2FuZGJveDp4\r\n\r\n`,
      `GET http://${lenientHost}/front HTTP/1.1\r\nHost: ${lenientHost}\r\n\r\n`,
      `CONNECT ${lenientHost}:443 HTTP/1.1\r\nHost: ${lenientHost}:443\r\n\r\n\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03`,
      'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
    ].map((text) => Buffer.from(text, 'latin1'));
    await fuzzSlowly(mutated(plain), 150, async (bytes) => {
      const seen = await ground.watch(lenientHost, async () => {
        const wire = new Wire(connect(port, host));
        wire.send(bytes.toString('latin1'));
        await settled(wire);
        wire.socket.destroy();
        return { statuses: [], mixedUp: [] };
      });
      expect(seen.mixedUp).toEqual([]);
      expect(seen.arrived).toEqual([]);
    });
  });
});

/** Until it was answered or ended; an input that asks for nothing is not waited for long. */
function settled(wire: Wire): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => void settle(0).then(resolve), 30);
    const done = (): void => {
      clearTimeout(timer);
      // What is under way behind the first answer comes with it.
      void settle(5).then(resolve);
    };
    wire.socket.once('data', done).once('close', done);
  });
}
