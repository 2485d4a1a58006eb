// Reaches an upstream through the operator's own HTTP proxy (`upstream.proxy`) by CONNECT. The proxy resolves the
// name, so the address guard cannot look at it: the allowlist of names is what holds then (docs/adr/005).
import { connect, type Socket } from 'node:net';
import { Refusal } from '../../../path/refusal.ts';
import { parseResponseHead } from '../../../protocols/http1/response-head.ts';
import { renderHead } from '../../../protocols/http1/write-head.ts';

const maxHeadBytes = 16 * 1024;

export function connectThroughProxy(
  proxy: { readonly host: string; readonly port: number },
  host: string,
  port: number,
  instance: string,
  timeoutMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const authority = `${host}:${port}`;
    const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true, keepAlive: true });
    let head: Buffer = Buffer.alloc(0);
    const fail = (message: string, cause?: unknown): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Refusal('upstream.proxy', message, { hint: 'Check upstream.proxy.', cause }));
    };
    const timer = setTimeout(() => fail(`the upstream proxy did not connect to ${host} in time`), timeoutMs);
    const onError = (cause: Error): void => fail('the upstream proxy could not be reached', cause);
    const onClose = (): void => fail('the upstream proxy closed the connection');
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      let parsed: ReturnType<typeof parseResponseHead>;
      try {
        parsed = parseResponseHead(head, 0, maxHeadBytes, 'CONNECT');
      } catch (cause) {
        fail('the upstream proxy gave no readable answer', cause);
        return;
      }
      if (parsed === null) return;
      if (parsed.status !== 200) {
        fail(`the upstream proxy refused ${authority} with status ${parsed.status}`);
        return;
      }
      clearTimeout(timer);
      socket.off('data', onData).off('error', onError).off('close', onClose);
      socket.pause();
      socket.on('error', () => socket.destroy());
      // TLS speaks first from our side: bytes that come before it are not from the upstream we asked for.
      if (parsed.headEnd < head.length) fail('the upstream proxy sent bytes of its own into the tunnel');
      else resolve(socket);
    };
    socket.on('data', onData).on('error', onError).on('close', onClose);
    socket.once('connect', () => {
      const fields = ['Host', 'Via'];
      socket.write(renderHead(`CONNECT ${authority} HTTP/1.1`, fields, [authority, `1.1 ${instance}`]), 'latin1');
    });
  });
}
