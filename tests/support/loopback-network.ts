// A gateway door and its sandboxes without namespaces, for tests that need no network but addresses: all of 127.0.0.0/8 is
// this machine, so that each caller has a source address of its own. What is sent is sent by hand.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { startTestGateway, type TestGateway } from './test-gateway.ts';

export interface LoopbackNetwork extends TestGateway {
  readonly door: string;
  readonly sandbox: string;
  readonly stranger: string;
  /** Sends bytes from a source address and returns all that comes back; `sni`: over TLS, the certificate checked for it. */
  send(from: string, request: string, way?: { readonly sni?: string | null; readonly port?: number }): Promise<string>;
  /** One datagram to the DNS of the door; null: no answer in time. */
  ask(from: string, message: Buffer, waitMs?: number): Promise<Buffer | null>;
}

/** `network`: of 127.81.N.0/24, one for each test file. */
export async function openLoopbackNetwork(
  network: number,
  document: Record<string, unknown>,
): Promise<LoopbackNetwork> {
  const [door, sandbox, stranger] = [1, 11, 13].map((last) => `127.81.${network}.${last}`) as [string, string, string];
  const gateway = await startTestGateway({ listen: { proxy: '127.0.0.1:0', gateway: door }, ...document });
  await gateway.register({ container_ip: sandbox });
  const ca = readFileSync(gateway.caPath, 'utf8');
  return {
    ...gateway,
    door,
    sandbox,
    stranger,
    async send(from, request, { sni, port = sni === undefined ? 80 : 443 } = {}) {
      const tcp = connectTcp({ host: door, port, localAddress: from });
      await once(tcp, 'connect');
      // Without a name in the handshake the certificate is checked for the address.
      const named = sni === undefined ? {} : sni === null ? { host: door } : { servername: sni };
      const socket = sni === undefined ? tcp : connectTls({ socket: tcp, ca, ALPNProtocols: ['http/1.1'], ...named });
      let answer = '';
      socket.on('data', (chunk: Buffer) => {
        answer += chunk;
      });
      socket.write(request);
      // What keeps the connection open has answered by then.
      const timer = setTimeout(() => socket.destroy(), 5_000);
      await new Promise<void>((resolve, reject) => {
        socket.on('error', reject);
        socket.on('close', () => resolve());
        socket.on('data', () => {
          if (/^HTTP\/1\.1 \d+ .*\r\n\r\n\{.*\}\s*$/s.test(answer)) socket.destroy();
        });
      });
      clearTimeout(timer);
      return answer;
    },
    async ask(from, message, waitMs = 10_000) {
      const client = createSocket('udp4').bind(0, from);
      await once(client, 'listening');
      return new Promise((resolve) => {
        const settle = (reply: Buffer | null): void => {
          clearTimeout(timer);
          client.close();
          resolve(reply);
        };
        const timer = setTimeout(() => settle(null), waitMs);
        client.on('message', settle);
        client.send(message, 53, door);
      });
    },
  };
}

/** The status and the code of a refusal. */
export function refusalIn(answer: string): string {
  const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 'none';
  return `${status} ${/"code":\s*"([a-z.-]+)"/.exec(answer)?.[1] ?? 'none'}`;
}
