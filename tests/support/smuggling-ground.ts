// Where the smuggling corpus is tried: one gateway, two far sides, two sandboxes. Every case is followed by a marker on
// its own connection, by a question on another connection of the same sandbox, and by one of another sandbox: each must
// get the answer that is its own. What counts is what the far side saw.
import type { Socket } from 'node:net';
import { disagreeing, lenientReaders, readStream } from './smuggling-readings.ts';
import {
  answerTo,
  type ScriptedAnswer,
  startLenientWitness,
  startNodeWitness,
  type Witness,
} from './smuggling-witness.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';
import { type Door, openTls } from './tunnel-client.ts';
import { Wire } from './wire.ts';

export const lenientHost = 'len.example';
export const nodeHost = 'ins.example';

export interface Sighting {
  /** Status of each answer on the connection of the case, the marker's included. */
  readonly statuses: readonly number[];
  /** The requests that arrived, without the marker and the two questions. */
  readonly arrived: readonly string[];
  /** Everything that arrived is in the one form in which requests leave; otherwise what is wrong. */
  readonly faults: readonly string[];
  /** Bodies of what arrived, as on the wire; only from the witness that keeps bytes. */
  readonly bodies: readonly string[];
  /** Every byte of each connection to the far side; nothing from the witness that keeps none. */
  readonly raw: readonly string[];
  /** What is wrong with the answers to the marker and to the questions; empty: each got its own. */
  readonly mixedUp: readonly string[];
}

export interface SmugglingGround {
  readonly gateway: TestGateway;
  /** Sends the bytes of a case, in pieces of so many bytes or in one go. `waits`: it is not going to be answered. */
  send(
    host: string,
    bytes: string,
    options: { readonly waits: boolean; readonly pieceBytes?: number },
  ): Promise<Sighting>;
  /** As `send`, for whatever else is done on the way: `act` returns the statuses it saw. */
  watch(host: string, act: (number: number) => Promise<{ statuses: number[]; mixedUp: string[] }>): Promise<Sighting>;
  stop(): Promise<void>;
}

export async function openSmugglingGround(
  script?: (target: string) => ScriptedAnswer | null,
): Promise<SmugglingGround> {
  const ca = makeTestCa();
  const lenient = await startLenientWitness(ca.issue([lenientHost, 'other.example']), script);
  const node = await startNodeWitness(ca.issue([nodeHost]));
  const gateway = await startTestGateway({
    // The other host is allowed too: what is refused is refused for what it says, not for where it goes.
    allow: [lenientHost, nodeHost, 'other.example'].map((host) => ({ host })),
    upstream: {
      resolve: { [lenientHost]: lenient.address, 'other.example': lenient.address, [nodeHost]: node.address },
      ca: ca.path,
    },
  });
  const own = await gateway.register();
  const other = await gateway.register({ proof: ['socket'] });
  const otherDoor: Door = { socketPath: (other.grant as { socket: string }).socket };
  const questions = new Map<string, Wire>();
  let number = 0;

  const ask = async (door: Door, host: string, target: string): Promise<string[]> => {
    const key = `${door === gateway ? 'same' : 'other'} ${host}`;
    let wire = questions.get(key);
    if (wire === undefined || wire.ended !== 'open') {
      wire = new Wire(await openTls(door, `${host}:443`, { caPath: gateway.caPath }));
      questions.set(key, wire);
    }
    wire.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const { body } = await wire.answer();
    return body === answerTo(target) && wire.received === '' ? [] : [`${target} got ${body}${wire.received}`];
  };

  const watch: SmugglingGround['watch'] = async (host, act) => {
    const witness: Witness = host === nodeHost ? node : lenient;
    witness.forget();
    const n = ++number;
    const { statuses, mixedUp } = await act(n);
    mixedUp.push(...(await ask(gateway, host, `/again-${n}`)), ...(await ask(otherDoor, host, `/other-${n}`)));
    const expected = new RegExp(`^GET /(again|other|marker)-${n}$`);
    const messages = witness.raw().flatMap((raw) => readStream(raw, lenientReaders[0]!).messages);
    return {
      statuses,
      arrived: witness.requests().filter((request) => !expected.test(request)),
      faults: witness.raw().flatMap((raw) => faultsOf(raw, host)),
      bodies: messages.filter(({ start }) => !expected.test(start.replace(/ HTTP.*/, ''))).map(({ body }) => body),
      raw: witness.raw(),
      mixedUp,
    };
  };

  return {
    gateway,
    watch,
    send: (host, bytes, { waits, pieceBytes }) =>
      watch(host, async (n) => {
        const socket = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
        const wire = new Wire(socket);
        const marker = `GET /marker-${n} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        await write(socket, Buffer.from(`${bytes}${marker}`, 'latin1'), pieceBytes);
        const text = waits ? '' : await wire.rest();
        const mixedUp = waits ? await ask(gateway, host, `/again-${n}`) : markerFaults(text, n);
        socket.destroy();
        return { statuses: statusesIn(text), mixedUp };
      }),
    async stop() {
      for (const wire of questions.values()) wire.socket.destroy();
      // A sandbox that is gone has no connections: none is left to be drained.
      for (const { id } of [own, other]) await gateway.admin('DELETE', `/internal/containers/${id}`);
      await gateway.stop();
      await Promise.all([lenient.close(), node.close()]);
    },
  };
}

async function write(socket: Socket, bytes: Buffer, pieceBytes = bytes.length): Promise<void> {
  socket.setNoDelay(true);
  for (let at = 0; at < bytes.length && !socket.destroyed; at += pieceBytes) {
    socket.write(bytes.subarray(at, at + pieceBytes));
    if (pieceBytes < bytes.length) await new Promise((resolve) => setImmediate(resolve));
  }
}

export const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1])).filter((status) => status !== 100);

/** An answer on the connection of the case names the case or the marker, each at most once, and the marker last. */
function markerFaults(text: string, n: number): string[] {
  const bodies = [...text.matchAll(/this answers (\S+?)(?=HTTP|$)/g)].map((match) => match[1]!);
  const marker = `/marker-${n}`;
  const strange = bodies.filter((target) => !/^\/(front|second)/.test(target) && target !== marker);
  const at = bodies.indexOf(marker);
  if (at >= 0 && at !== bodies.length - 1) strange.push('something behind the marker');
  return strange.map((target) => `the connection of the case was answered with ${target}`);
}

/** What is said of bytes that are no whole request to anybody. */
export const halfRequest = 'half a request';

const requestLine = /^[A-Z][A-Z-]* \/[\x21-\x7e]* HTTP\/1\.1$/;
const perHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'te',
  'upgrade',
  'http2-settings',
]);

/** What is not canonical in the bytes that reached the far side, and which readers would disagree on them. */
function faultsOf(raw: string, host: string): string[] {
  const { messages, rest } = readStream(raw, lenientReaders[0]!);
  // Readers may differ on where half a line ends; the connection it came on is closed.
  const faults = rest === '' ? disagreeing(raw).map((name) => `another reading when ${name}`) : [halfRequest];
  for (const { start, fields } of messages) {
    if (!requestLine.test(start)) faults.push(`the request line ${JSON.stringify(start)}`);
    const values = (name: string): string[] => fields.filter(([key]) => key === name).map(([, value]) => value);
    if (values('host').join() !== host) faults.push(`Host is ${JSON.stringify(values('host'))}`);
    const lengths = values('content-length');
    const codings = values('transfer-encoding');
    if (lengths.length + codings.length > 1) faults.push('its end is given twice');
    if (lengths.some((value) => !/^(0|[1-9]\d*)$/.test(value))) faults.push(`a length of ${lengths}`);
    if (codings.some((value) => value !== 'chunked')) faults.push(`a coding of ${codings}`);
    for (const [name, value] of fields) {
      // Without it a far side sends no trailers; it says nothing about the framing of the request.
      if (perHop.has(name) && !(name === 'te' && value === 'trailers')) faults.push(`${name} travelled`);
      if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)) faults.push(`the name ${JSON.stringify(name)}`);
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) faults.push(`the value of ${name}`);
      if (/^(content|transfer)_/.test(name)) faults.push(`${name} travelled`);
    }
  }
  return faults;
}
