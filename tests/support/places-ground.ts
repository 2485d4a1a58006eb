// A gateway whose credentials go into the path, into a body, or over it, before a far side that keeps every byte.
import { placeholderFor } from '../../src/kit/text/placeholder.ts';
import { type RawAnswer, sendTunnelled } from './raw-client.ts';
import { type RecordingUpstream, type ScriptedAnswer, startRecordingUpstream } from './recording-upstream.ts';
import { makeTestCa } from './test-ca.ts';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

/** What is really behind each credential. */
export const realValues = {
  telegram: '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw',
  anywhere: 'real/any&where=7f3a 9c51',
  login: 'real"json\\value-7f3a9c51',
  client: 'real&form=value+7f3a9c51',
  events: 'real-signing-key-7f3a9c51',
  other: 'real-other-value-1b2c3d4e',
} as const;

export const telegramPlaceholder = placeholderFor('telegram', '123456:');
export const anywherePlaceholder = placeholderFor('anywhere');

const names = ['telegram', 'any', 'json', 'form', 'slack', 'open', 'other'].map((name) => `${name}.example`);

export interface PlacesGround {
  readonly gateway: TestGateway;
  readonly upstream: RecordingUpstream;
  /** The head of a request without Host, then whatever follows. */
  send(host: string, head: string, rest?: string | Buffer): Promise<RawAnswer>;
  /** What the journal says of the last request. */
  lastRecord(): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

export async function openPlacesGround(answer?: ScriptedAnswer): Promise<PlacesGround> {
  const ca = makeTestCa();
  const upstream = await startRecordingUpstream(ca.issue(names), answer);
  const gateway = await startTestGateway({
    allow: names.map((host) => ({ host })),
    credentials: {
      other: {
        hosts: ['any.example', 'json.example', 'other.example'],
        paths: ['/other/**'],
        inject: { bearer: true },
      },
      telegram: {
        hosts: ['telegram.example'],
        inject: { path: '/bot{credential}/**' },
        placeholder: { env: 'TELEGRAM_TOKEN', prefix: '123456:' },
      },
      anywhere: { hosts: ['any.example'], inject: { path: true } },
      login: { hosts: ['json.example'], inject: { json: '/auth/token' } },
      client: { hosts: ['form.example'], inject: { form: 'client_secret' } },
      events: { hosts: ['slack.example'], inject: { hmac: { format: 'slack' } } },
    },
    secrets: { injected_body_bytes: 4096 },
    upstream: { resolve: Object.fromEntries(names.map((name) => [name, upstream.address])), ca: ca.path },
  });
  await gateway.register();
  for (const [name, value] of Object.entries(realValues)) await gateway.setSecret(name, value);
  return {
    gateway,
    upstream,
    send(host, head, rest = '\r\n') {
      upstream.forget();
      const start = `${head}\r\nHost: ${host}\r\nConnection: close\r\n`;
      return sendTunnelled(gateway, host, Buffer.concat([Buffer.from(start, 'latin1'), Buffer.from(rest)]));
    },
    async lastRecord() {
      return (await gateway.journal()).at(-1) ?? {};
    },
    async stop() {
      await gateway.stop();
      await upstream.close();
    },
  };
}

export function typedBody(text: string | Buffer, type: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from(`Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`), body]);
}
