import dns from 'node:dns/promises';
import type { ClientHttp2Session } from 'node:http2';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { afterThisFile } from '../support/after-this-file.ts';
import { plantedKey } from '../support/attack-ground.ts';
import { eventually } from '../support/eventually.ts';
import { domain, type FaultyUpstream, startFaultyUpstream } from '../support/faulty-upstream.ts';
import { nobodyThere } from '../support/kept-port.ts';
import { type RawUpstream, type ServeConnection, startRawUpstream } from '../support/raw-upstream.ts';
import { makeTestCa } from '../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { openHttp2, openTls } from '../support/tunnel-client.ts';
import { type Case, type Fate, h1Cases, h2Cases } from './upstream-fault-table.ts';

// All faults against one gateway, each under a name of its own and many at a time: most of it is waiting for the limits
// to run out, and that they can do side by side.

// Far apart: when the process stood still for a while, both may be over at once.
const answerMs = 3_000;
const idleMs = 9_000;
const uploadBytes = {
  upload: 1024 ** 2,
  /** More than all buffers on the way hold. */
  'large upload': 16 * 1024 ** 2,
};

const portClosed = 'port-closed';
/** Before there is any TLS: servers that do not even shake hands. */
const handshakes: Readonly<Record<string, { readonly serve: ServeConnection; readonly fate: Fate }>> = {
  'handshake-reset': { serve: ({ reset }) => reset(), fate: { refused: 502, code: 'upstream.connect' } },
  'handshake-closed': { serve: ({ socket }) => void socket.end(), fate: { refused: 502, code: 'upstream.connect' } },
  'handshake-in-clear': {
    serve: ({ wire }) => wire.send('HTTP/1.1 400 Bad Request\r\n\r\n'),
    fate: { refused: 502, code: 'upstream.connect' },
  },
  'handshake-stalls': { serve: () => {}, fate: { refused: 504, code: 'upstream.timeout' } },
  [portClosed]: { serve: () => {}, fate: { refused: 502, code: 'upstream.connect' } },
};
/** Before there is any address. What the resolver of the machine does with the names below this domain: */
const unresolved = 'nowhere.example';
const names: Readonly<Record<string, { readonly resolve: () => Promise<never>; readonly fate: Fate }>> = {
  'name-unknown': { resolve: failsWith('ENOTFOUND'), fate: { refused: 502, code: 'upstream.unresolved' } },
  'name-server-fails': { resolve: failsWith('EAI_AGAIN'), fate: { refused: 502, code: 'upstream.unresolved' } },
  'name-stalls': { resolve: () => new Promise(() => {}), fate: { refused: 504, code: 'upstream.timeout' } },
};
const badCertificate: Fate = { refused: 502, code: 'upstream.certificate' };
const certificates = ['certificate-expired', 'certificate-of-another', 'certificate-unknown-ca'];

interface Seen {
  readonly status: number | null;
  readonly body: string;
  /** It ended in good order. */
  readonly whole: boolean;
}

interface Plan {
  readonly name: string;
  readonly client: 'h1' | 'h2';
  readonly fate: Fate;
  readonly kept: boolean;
  readonly ask: Case<unknown>['ask'];
}

function planOf(name: string, client: 'h1' | 'h2', { fate, kept, ask }: Omit<Case<unknown>, 'fault'>): Plan {
  return { name, client, fate, kept: kept === true, ask };
}

const plans: readonly Plan[] = [
  ...Object.entries(h1Cases).map(([name, one]) => planOf(name, 'h1', one)),
  // The same upstreams under other names, asked by HTTP/2 clients: what HTTP/1.1 says has to be retold.
  ...Object.entries(h1Cases)
    .filter(([name]) => /^(?:reset|closed|stall-in|tls|longer|bad-chunk|no-head|trailers)/.test(name))
    .filter(([, { ask }]) => ask === undefined)
    .map(([name, one]) => planOf(`two-${name}`, 'h2', one)),
  ...Object.entries(h2Cases).map(([name, one]) => planOf(name, 'h2', one)),
  ...Object.entries(handshakes).map(([name, one]) => planOf(name, 'h1', one)),
  ...Object.keys(handshakes).map((name) => planOf(`two-${name}`, 'h2', handshakes[name]!)),
  ...Object.entries(names).map(([name, one]) => planOf(name, 'h1', one)),
  ...Object.keys(names).map((name) => planOf(`two-${name}`, 'h2', names[name]!)),
  ...certificates.map((name) => planOf(name, 'h1', { fate: badCertificate })),
];

/** Those that can answer well, and do when they are asked once more. */
const healed = plans.filter(({ name }) => !/handshake|port-closed|certificate|name-/.test(name));
const hostOf = (name: string): string => `${name}.${/name-/.test(name) ? unresolved : domain}`;

let upstream: FaultyUpstream;
let raw: Record<string, RawUpstream>;
let gateway: TestGateway;
const seen = new Map<string, Seen>();
const after = new Map<string, Seen>();
const leftOpen = new Map<string, number>();
let records: Record<string, unknown>[] = [];
let crowd: (number | null)[] = [];

beforeAll(async () => {
  const ca = makeTestCa();
  const twice = Object.fromEntries(Object.entries(h1Cases).map(([name, { fault }]) => [`two-${name}`, fault]));
  upstream = await startFaultyUpstream(
    ca,
    {
      h1: { ...Object.fromEntries(Object.entries(h1Cases).map(([name, { fault }]) => [name, fault])), ...twice },
      h2: Object.fromEntries(Object.entries(h2Cases).map(([name, { fault }]) => [name, fault])),
      certificates: {
        'certificate-expired': ca.issue([`*.${domain}`], -1),
        'certificate-of-another': ca.issue(['elsewhere.example']),
        'certificate-unknown-ca': makeTestCa().issue([`*.${domain}`]),
      },
    },
    plans.length,
  );
  raw = Object.fromEntries(
    await Promise.all(
      Object.entries(handshakes).map(async ([name, { serve }]) => [name, await startRawUpstream({ tls: null, serve })]),
    ),
  );
  resolveNames();
  // What stalls here keeps no thread busy, only its place: with the usual few of them the other names would wait behind it.
  vi.stubEnv('UV_THREADPOOL_SIZE', '64');
  const named = Object.entries(raw).flatMap(([name, { address }]) =>
    [name, `two-${name}`].map((one) => [`${one}.${domain}`, name === portClosed ? nobodyThere : address]),
  );
  gateway = await startTestGateway({
    allow: [{ host: `*.${domain}` }, { host: `*.${unresolved}` }],
    credentials: { key: { hosts: [`*.${domain}`], inject: { header: 'x-api-key' } } },
    limits: {
      // As many as there are faults, and not one more: a place that is not given back is missed at the end.
      concurrent_requests: plans.length,
      connect_timeout_ms: idleMs,
      headers_timeout_ms: answerMs,
      // Longer, so that the door does not lose patience with the client meanwhile.
      idle_timeout_ms: idleMs,
    },
    upstream: { resolve: { ...Object.fromEntries(named), [`*.${domain}`]: upstream.address }, ca: ca.path },
  });
  vi.unstubAllEnvs();
  await gateway.register();
  await gateway.setSecret('key', plantedKey);

  await atMost(24, plans, async (plan) => void seen.set(plan.name, await ask(plan)));
  const settled = (): boolean => plans.every(({ name, kept }) => upstream.openTo(name) === (kept ? 1 : 0));
  await eventually(settled, 'connections are closed', 15_000).catch(() => {});
  for (const { name } of plans) leftOpen.set(name, upstream.openTo(name));
  upstream.heal();
  await atMost(24, healed, async (plan) => void after.set(plan.name, await ask({ ...plan, ask: undefined })));
  crowd = await askAtOnce(plans.length);
  records = await gateway.journal();
}, 120_000);

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  await Promise.all(Object.values(raw).map((one) => one.close()));
});

function failsWith(code: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(`getaddrinfo ${code}`), { code }));
}

/** The resolver of the machine is not asked: what it says of a name that nobody has is its own business. */
function resolveNames(): void {
  const { lookup } = dns;
  const ours = (host: string, ...rest: unknown[]): unknown => {
    const [name = ''] = host.split('.');
    const { resolve } = names[name.replace(/^two-/, '')] ?? {};
    return resolve === undefined ? Reflect.apply(lookup, dns, [host, ...rest]) : resolve();
  };
  Reflect.set(dns, 'lookup', ours);
  syncBuiltinESMExports();
  afterThisFile(() => {
    Reflect.set(dns, 'lookup', lookup);
    syncBuiltinESMExports();
  });
}

/** Not all handshakes in the same moment: client, gateway and far side share one process here. */
async function atMost(count: number, all: readonly Plan[], act: (plan: Plan) => Promise<void>): Promise<void> {
  // Those that wait for time to run out begin first.
  const queue = [...all].sort((a, b) => Number(isSlow(b)) - Number(isSlow(a)));
  const worker = async (): Promise<void> => {
    for (let plan = queue.shift(); plan !== undefined; plan = queue.shift()) await act(plan);
  };
  await Promise.all(Array.from({ length: count }, worker));
}

function isSlow({ fate }: Plan): boolean {
  return ('code' in fate ? fate.code : 'broken' in fate ? fate.broken : '') === 'upstream.timeout';
}

async function ask(plan: Plan): Promise<Seen> {
  return plan.client === 'h1' ? askH1(plan) : askH2(plan);
}

async function askH1({ name, ask: how }: Plan): Promise<Seen> {
  const host = hostOf(name);
  const socket = await openTls(gateway, `${host}:443`, { caPath: gateway.caPath });
  let text = '';
  let isEnded = false;
  const over = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => {
      isEnded = true;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
  const upload = uploadOf(how);
  const fields = how === 'websocket' ? webSocketFields : upload && `Content-Length: ${upload.length}\r\n`;
  const method = upload !== null ? 'POST' : how === 'HEAD' ? 'HEAD' : 'GET';
  const last = how === 'websocket' ? '' : 'Connection: close\r\n';
  socket.write(`${method} / HTTP/1.1\r\nHost: ${host}\r\n${fields ?? ''}${last}\r\n`);
  if (upload !== null) socket.write(upload);
  await over;
  return readH1(text, isEnded, method);
}

function uploadOf(how: Plan['ask']): Buffer | null {
  return how === 'upload' || how === 'large upload' ? Buffer.alloc(uploadBytes[how]) : null;
}

const webSocketFields =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';

function readH1(text: string, isEnded: boolean, method: string): Seen {
  const answer = text.slice(text.search(/HTTP\/1\.1 [2-5]/));
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  const status = /^HTTP\/1\.1 (\d+)/.exec(head)?.[1];
  if (status === undefined) return { status: null, body: text, whole: false };
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  const isChunked = /^transfer-encoding: *chunked/im.test(head);
  const bodyless = method === 'HEAD' || status === '204' || status === '304';
  const whole =
    bodyless ||
    (length === undefined ? (isChunked ? /(?:^|\r\n)0\r\n/.test(body) : isEnded) : body.length === Number(length));
  return { status: Number(status), body: isChunked ? (body.split('\r\n')[1] ?? '') : body, whole };
}

async function askH2({ name, ask: how }: Plan): Promise<Seen> {
  const session = await openHttp2(gateway, hostOf(name), { caPath: gateway.caPath });
  session.on('error', () => {});
  try {
    return await askOn(session, uploadOf(how), how === 'HEAD' ? 'HEAD' : 'GET');
  } finally {
    session.destroy();
  }
}

function askOn(session: ClientHttp2Session, upload: Buffer | null, method: 'GET' | 'HEAD' = 'GET'): Promise<Seen> {
  return new Promise((resolve) => {
    const fields = { ':method': upload === null ? method : 'POST' };
    const stream = session.request(fields, { endStream: upload === null });
    let status: number | null = null;
    let body = '';
    let isEnded = false;
    stream.on('response', (fields) => {
      status = Number(fields[':status']);
    });
    stream.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1');
    });
    stream.on('end', () => {
      isEnded = true;
    });
    stream.on('error', () => {});
    stream.on('close', () => resolve({ status, body, whole: isEnded && stream.rstCode === 0 }));
    if (upload !== null) stream.end(upload);
  });
}

/** So many streams of one client, of which none is answered before the last has arrived. */
async function askAtOnce(count: number): Promise<(number | null)[]> {
  const session = await openHttp2(gateway, `h2-crowd.${domain}`, { caPath: gateway.caPath });
  const all = await Promise.all(Array.from({ length: count }, () => askOn(session, null)));
  session.destroy();
  return all.map(({ status }) => status);
}

function recordOf(name: string): Record<string, unknown> {
  const [first, ...more] = records.filter(({ host }) => host === hostOf(name));
  expect(more).toHaveLength(after.has(name) ? 1 : 0);
  return first!;
}

describe('whatever an upstream does, the client is told, it is written down, and nothing is left', () => {
  test.each(plans)('$name ($client)', ({ name, fate, kept, ask }) => {
    const got = seen.get(name)!;
    const record = recordOf(name);
    if ('refused' in fate) {
      expect(got).toMatchObject({ status: fate.refused, whole: true });
      expect(JSON.parse(got.body)).toMatchObject({ code: fate.code, hint: expect.stringMatching(/./) });
      expect(record).toMatchObject({ verdict: 'failed', status: fate.refused, code: fate.code });
    } else if ('broken' in fate) {
      // A reset may overtake what was said before it: then there was nothing to break off.
      if (got.status === 502) expect(JSON.parse(got.body)).toMatchObject({ code: fate.broken });
      // Its client has all of it with the head; what must not come after it does not.
      else if (ask === 'HEAD') expect(got.body).toBe('');
      else expect(got.whole).toBe(false);
      expect(record).toMatchObject({ verdict: 'failed', code: fate.broken });
    } else {
      expect(got).toMatchObject({
        status: fate.whole,
        whole: true,
        ...(fate.body === undefined ? {} : { body: fate.body }),
      });
      expect(record).toMatchObject({ verdict: 'allowed', status: fate.whole });
    }
    expect(got.body).not.toMatch(/127\.0\.0\.1|:\d{4,5}\b|planted/);
    expect(leftOpen.get(name)).toBe(kept ? 1 : 0);
  });

  test.each(healed)('and the next request is served: $name ($client)', ({ name }) =>
    expect(after.get(name)).toMatchObject({ status: 200, whole: true }),
  );

  test('every place under the limit was given back', () => {
    expect(crowd.filter((status) => status !== 200)).toEqual([]);
    expect(crowd).toHaveLength(plans.length);
  });

  test('no connection is left when what is kept is dropped', async () => {
    await gateway.gateway.reload();
    await eventually(() => upstream.open === 0, 'the far side is alone');
  });
});
