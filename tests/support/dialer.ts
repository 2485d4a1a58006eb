// A process that opens connections as any uid, from a port of the test's choosing, when it is told to: for the tests of who is
// at the other end. Needs root, which tests have.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Wire } from './wire.ts';

const program = `
import json, os, random, socket, struct, sys
held = {}
lowest = int(open('/proc/sys/net/ipv4/ip_local_port_range').read().split()[0])
def bind_kept(s, source):
    for port in random.sample(range(10000, lowest), 50):
        try: return s.bind((source, port))
        except OSError as error: last = error
    raise last
for line in sys.stdin:
    do = json.loads(line)
    try:
        if do['do'] == 'connect':
            os.seteuid(do['uid'])
            family = socket.AF_INET6 if ':' in do['host'] else socket.AF_INET
            s = socket.socket(family, socket.SOCK_STREAM)
            os.seteuid(0)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if do['port'] == 'kept': bind_kept(s, do['source'])
            elif do['port']: s.bind((do['source'], do['port']))
            s.connect((do['host'], do['to']))
            held[do['name']] = s
            print(s.getsockname()[1], flush=True)
        elif do['do'] == 'send':
            held[do['name']].sendall(do['text'].encode()); print('sent', flush=True)
        elif do['do'] == 'half':
            held[do['name']].shutdown(socket.SHUT_WR); print('half', flush=True)
        elif do['do'] == 'reset':
            s = held.pop(do['name'])
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            s.close(); print('reset', flush=True)
        elif do['do'] == 'close':
            held.pop(do['name']).close(); print('closed', flush=True)
    except Exception as error:
        os.seteuid(0)
        print('failed', error, flush=True)
`;

export class Dialer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #said: Wire;

  constructor() {
    this.#child = spawn('python3', ['-u', '-c', program], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#said = new Wire(this.#child.stdout);
  }

  /**
   * Returns the port it was made from. `kept`: one that the kernel gives to nobody by itself, so that it is still free
   * after this connection has let go of it.
   */
  async connect(name: string, uid: number, to: number, port: number | 'kept' = 0, host = '127.0.0.1'): Promise<number> {
    const source = host.includes(':') ? host : '127.0.0.1';
    return Number(await this.#tell({ do: 'connect', name, uid, to, port, host, source }));
  }

  send(name: string, text: string): Promise<string> {
    return this.#tell({ do: 'send', name, text });
  }

  /** Ends only what it sends. */
  halfClose(name: string): Promise<string> {
    return this.#tell({ do: 'half', name });
  }

  /** At once, leaving the port free. */
  reset(name: string): Promise<string> {
    return this.#tell({ do: 'reset', name });
  }

  close(name: string): Promise<string> {
    return this.#tell({ do: 'close', name });
  }

  async end(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #tell(what: object): Promise<string> {
    this.#child.stdin.write(`${JSON.stringify(what)}\n`);
    const said = (await this.#said.until('\n')).trim();
    if (said.startsWith('failed')) throw new Error(said);
    return said;
  }
}
