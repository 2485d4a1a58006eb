// Where a sandbox tries to send a placeholder or a real key where it does not belong: a gateway with a credential for
// `api.example` and one for `git.example`, hosts that have none, and one that is a model's. The far side keeps every byte.
import { expect } from 'vitest';
import { placeholderFor } from '../../../src/kit/text/placeholder.ts';
import type { RawAnswer } from '../../support/raw-client.ts';
import { sendTunnelled, type TunnelOptions } from '../../support/raw-client.ts';
import { type RecordingUpstream, startRecordingUpstream } from '../../support/recording-upstream.ts';
import { makeTestCa } from '../../support/test-ca.ts';
import { startTestGateway, type TestGateway } from '../../support/test-gateway.ts';

/** What is really behind the credential `key`. */
export const realKey = 'Planted-Key/7f3a9c51+d2';
export const placeholder = placeholderFor('key', 'sk-');
export const misplaced = 'secret.placeholder-misplaced';
export const outbound = 'secret.value-outbound';

export const outboundHosts = [
  'api.example',
  'git.example',
  'other-git.example',
  'open.example',
  'model.example',
  '*.files.example',
];

export function outboundConfig(secrets: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    allow: [
      ...outboundHosts.filter((host) => host !== 'model.example').map((host) => ({ host })),
      { host: 'model.example', conversation: true },
    ],
    git: { hosts: ['git.example', 'other-git.example'] },
    credentials: {
      key: { hosts: ['api.example'], inject: { header: 'x-api-key' } },
      forge: { hosts: ['git.example'], inject: { basic: { username: 'x-access-token' } } },
    },
    secrets,
  };
}

export interface OutboundGround {
  readonly gateway: TestGateway;
  readonly upstream: RecordingUpstream;
  /** The head of a request without its end, then whatever follows. */
  send(host: string, head: string, rest?: string | Buffer, options?: TunnelOptions): Promise<RawAnswer>;
  /** The last record of the journal that was refused or had an incident. */
  lastIncident(): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

export async function openOutboundGround(secrets: Record<string, unknown> = {}): Promise<OutboundGround> {
  const ca = makeTestCa();
  const names = [...outboundHosts.filter((host) => !host.startsWith('*')), '*.files.example'];
  const upstream = await startRecordingUpstream(ca.issue(names));
  const gateway = await startTestGateway({
    ...outboundConfig(secrets),
    upstream: { resolve: Object.fromEntries(names.map((name) => [name, upstream.address])), ca: ca.path },
  });
  await gateway.register();
  await gateway.setSecret('key', realKey);
  return {
    gateway,
    upstream,
    send(host, head, rest = '', options = {}) {
      upstream.forget();
      const bytes = Buffer.concat([
        Buffer.from(`${head}\r\nHost: ${host}\r\nConnection: close\r\n`, 'latin1'),
        Buffer.from(rest === '' ? '\r\n' : rest),
      ]);
      return sendTunnelled(gateway, host, bytes, options);
    },
    async lastIncident() {
      const records = await gateway.journal();
      return records.findLast(({ incident }) => typeof incident === 'string') ?? {};
    },
    async stop() {
      await gateway.stop();
      await upstream.close();
    },
  };
}

/** It was refused in words that say what, where and by which rule, and the far side never saw a whole request. */
export async function expectRefused(
  ground: OutboundGround,
  answer: RawAnswer,
  code: string,
  incident: string,
): Promise<void> {
  expect(answer.code).toBe(code);
  expect(answer.statuses.at(-1)).toBe(403);
  expect(answer.text).toContain('"rule":"secrets.misplaced"');
  expect(ground.upstream.requests).toEqual([]);
  expect(await ground.lastIncident()).toMatchObject({ verdict: 'refused', code, incident });
}

/** A body with Content-Length, after the head. */
export function withLength(body: string | Buffer, fields = ''): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(`${fields}Content-Length: ${bytes.length}\r\n\r\n`), bytes]);
}

/** A body in chunks, after the head. */
export function inChunks(pieces: readonly (string | Buffer)[], trailers = '', fields = ''): Buffer {
  const chunks = pieces.map((piece) => {
    const bytes = Buffer.from(piece);
    return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  });
  const head = Buffer.from(`${fields}Transfer-Encoding: chunked\r\n\r\n`);
  return Buffer.concat([head, ...chunks, Buffer.from(`0\r\n${trailers}\r\n`)]);
}

/** The ways in which a text is written down elsewhere. */
export const writtenAs: readonly (readonly [name: string, write: (text: string) => string])[] = [
  ['as it is', (text) => text],
  ['in base64', (text) => Buffer.from(text).toString('base64')],
  ['in base64 one byte on', (text) => Buffer.from(`:${text}`).toString('base64')],
  ['in base64 two bytes on, for URLs', (text) => Buffer.from(`ab${text}`).toString('base64url')],
  ['in hexadecimal', (text) => Buffer.from(text).toString('hex')],
  ['in hexadecimal in capitals', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['percent-encoded', (text) => Buffer.from(text).toString('hex').replace(/../g, '%$&')],
  ['escaped as JSON', (text) => Buffer.from(text).toString('hex').replace(/../g, '\\u00$&')],
];
