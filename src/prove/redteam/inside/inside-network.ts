// What the attacker does with sockets. Runs inside the sandbox as text, not as a module: it must use nothing but its
// parameters and what `process` gives it (see inside-script.ts).
import type { Observation, ProbeHandlers, Way } from '../probe.ts';

export type NetworkProbe = 'unix' | 'listen' | 'listen-unix' | 'connect' | 'datagram' | 'send' | 'http2';

export function insideNetwork(): ProbeHandlers<NetworkProbe> {
  const net = process.getBuiltinModule('node:net');
  const tls = process.getBuiltinModule('node:tls');
  const dgram = process.getBuiltinModule('node:dgram');
  const http2 = process.getBuiltinModule('node:http2');
  const waitMs = 6_000;
  const maxText = 4 * 1024 * 1024;
  type Socket = import('node:net').Socket;

  function opened(socket: Socket, event: 'connect' | 'secureConnect'): Promise<Socket> {
    return new Promise((resolve, reject) => {
      socket.setTimeout(waitMs, () => socket.destroy(new Error('no answer')));
      socket.once('error', reject);
      socket.once(event, () => {
        socket.off('error', reject);
        resolve(socket);
      });
    });
  }

  /** What comes until the end, until `isEnough`, or until it is quiet. */
  function collect(socket: Socket, quietMs: number, isEnough: (text: string) => boolean): Promise<Observation> {
    return new Promise((resolve) => {
      let text = '';
      let timer = setTimeout(() => done(null), waitMs);
      const done = (error: string | null): void => {
        clearTimeout(timer);
        socket.off('data', onData);
        resolve({ ok: error === null, error, text, exit: null });
      };
      const onData = (chunk: Buffer): void => {
        text += chunk.toString('latin1');
        clearTimeout(timer);
        timer = setTimeout(() => done(null), quietMs);
        if (isEnough(text) || text.length > maxText) done(null);
      };
      socket.on('data', onData);
      socket.once('end', () => done(null));
      socket.once('close', () => done(null));
      socket.once('error', (error: NodeJS.ErrnoException) => done(text === '' ? (error.code ?? error.message) : null));
    });
  }

  async function open(way: Way, alpn: string[]): Promise<{ socket: Socket; refusal: Observation | null }> {
    let socket = await opened(net.connect({ host: way.host, port: way.port }), 'connect');
    if (way.connect !== undefined) {
      socket.write(`CONNECT ${way.connect} HTTP/1.1\r\nHost: ${way.connect}\r\n\r\n`);
      const answer = await collect(socket, 500, (text) => text.endsWith('\r\n\r\n'));
      if (!/^HTTP\/1\.1 200 /.test(answer.text)) return { socket, refusal: answer };
    }
    if (way.tls !== undefined) {
      const { name, ca, verify } = way.tls;
      const secure = tls.connect({
        socket,
        ALPNProtocols: alpn,
        ...(name !== null && { servername: name }),
        ...(ca !== undefined && { ca }),
        rejectUnauthorized: verify ?? true,
      });
      socket = await opened(secure, 'secureConnect');
    }
    return { socket, refusal: null };
  }

  /** On a Unix socket it also connects to itself. */
  function listenOn(options: { host: string; port: number } | { path: string }): Promise<Partial<Observation>> {
    return new Promise((resolve, reject) => {
      const server = net.createServer((visitor) => visitor.destroy());
      server.once('error', reject);
      server.listen(options, () => {
        const done = (): void => {
          server.close();
          resolve({});
        };
        if ('port' in options) done();
        else net.connect(options).on('connect', done).on('error', reject);
      });
    });
  }

  return {
    unix: async ({ path }) => {
      const socket = await opened(net.connect({ path }), 'connect');
      socket.destroy();
      return {};
    },
    listen: ({ host, port }) => listenOn({ host, port }),
    'listen-unix': ({ path }) => listenOn({ path }),
    connect: async ({ host, port }) => {
      const socket = await opened(net.connect({ host, port }), 'connect');
      socket.destroy();
      return {};
    },
    datagram: ({ host, port, hex }) =>
      new Promise((resolve, reject) => {
        const socket = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4');
        const timer = setTimeout(() => {
          socket.close();
          reject(new Error('no answer'));
        }, 1_500);
        const end = (act: () => void): void => {
          clearTimeout(timer);
          socket.close();
          act();
        };
        socket.on('error', (error) => end(() => reject(error)));
        socket.on('message', (message) => end(() => resolve({ text: message.toString('hex') })));
        // Connected, so that the kernel says when nobody listens there.
        socket.connect(port, host, () => socket.send(Buffer.from(hex, 'hex')));
      }),
    send: async ({ way, text, quietMs = 2_000 }) => {
      const { socket, refusal } = await open(way, ['http/1.1']);
      if (refusal === null) socket.write(Buffer.from(text, 'latin1'));
      const observed = refusal ?? (await collect(socket, quietMs, () => false));
      socket.destroy();
      return observed.text === '' ? { ...observed, error: observed.error ?? 'closed without an answer' } : observed;
    },
    http2: async ({ way, headers, body = '' }) => {
      const { socket, refusal } = await open(way, ['h2']);
      if (refusal !== null) {
        socket.destroy();
        return refusal;
      }
      return new Promise((resolve, reject) => {
        const session = http2.connect('https://attacker.invalid', { createConnection: () => socket });
        session.on('error', reject);
        const stream = session.request({ ...headers }, { endStream: body === '' });
        let text = '';
        stream.setTimeout(waitMs, () => stream.destroy(new Error('no answer')));
        stream.on('response', (fields) => {
          const lines = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}\r\n`);
          text = `HTTP/2 ${fields[':status']} \r\n${lines.filter((line) => !line.startsWith(':')).join('')}\r\n`;
        });
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString('latin1');
        });
        stream.on('error', reject);
        stream.on('end', () => {
          session.destroy();
          socket.destroy();
          resolve({ text });
        });
        if (body !== '') stream.end(body);
      });
    },
  };
}
