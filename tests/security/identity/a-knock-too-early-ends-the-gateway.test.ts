// Must not happen: a connection comes while its door is being opened, nobody takes it up, and its reset, at any time later,
// is an error that nobody hears and that ends the gateway. A container runs before it has a door, and may knock all the while.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { closeNamespaceHandles, openNamespaceDoor } from '../../../src/sandbox/namespace/open-namespace-door.ts';
import type { DoorPorts } from '../../../src/stages/accept/doors/door-ports.ts';
import { openGatewayDoor } from '../../../src/stages/accept/doors/gateway-door.ts';
import { makeNamespace } from '../../support/namespace.ts';
import { Wire } from '../../support/wire.ts';

/** Connects without end until its input ends; says when it came in, and in the end how many connections nobody took up. */
const knocking = `
import select, socket, sys
held = []
print('knocking', flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for port in sys.argv[2:]:
        if len(held) > 500: break
        s = socket.socket()
        try: s.connect((sys.argv[1], int(port)))
        except OSError: s.close(); continue
        held.append(s)
        if len(held) == 1: print('in', flush=True)
forgotten = 0
for s in held:
    s.settimeout(0.5 if forgotten else 3)
    try:
        while s.recv(4096): pass
    except TimeoutError: forgotten += 1
    except OSError: pass
    if forgotten > 9: break
print(f'forgotten: {forgotten}', flush=True)
`;

// What the door on a network loads before it opens takes its time, as it may on a busy machine.
vi.mock('../../../src/kit/original-destination.ts', async (original) => ({
  ...(await original<object>()),
  loadOriginalDestination: () => new Promise((resolve) => setTimeout(() => resolve(null), 200)),
}));

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function knock(command: readonly string[], address: string, ports: readonly number[]) {
  const [program, ...args] = [...command, 'python3', '-c', knocking, address, ...ports.map(String)];
  const child: ChildProcessWithoutNullStreams = spawn(program!, args, { timeout: 50_000, killSignal: 'SIGKILL' });
  undo.push(() => child.kill('SIGKILL'));
  const said = new Wire(child.stdout);
  await said.until('knocking\n');
  return async (): Promise<string> => {
    await said.until('in\n');
    child.stdin.end();
    await said.until('forgotten: ');
    return (await said.until('\n')).trim();
  };
}

function never(): never {
  throw new Error('nobody is let in');
}

describe('no connection is accepted that nobody takes up', () => {
  test('at the door of a container, while it is being opened', async () => {
    const namespace = await makeNamespace();
    undo.push(() => namespace.end());
    const inside = ['nsenter', '--target', String(namespace.pid), '--net', '--'];
    const stop = await knock(inside, '127.0.0.1', [443, 80, 53, 3128]);
    const handles = await openNamespaceDoor({ pid: namespace.pid, ports: [443, 80] });
    undo.push(() => closeNamespaceHandles(handles));
    for (const server of [...handles.tcp.values(), handles.dnsTcp, handles.proxy]) {
      server.on('connection', (socket) => socket.on('error', () => {}).destroy());
    }
    expect(await stop()).toBe('0');
  });

  test('at the door on a network, while it is being opened', async () => {
    const address = '127.81.7.1';
    const stop = await knock([], address, [443, 80]);
    const ports: DoorPorts = {
      serve: never,
      admit: never,
      whyNot: never,
      tunnels: never,
      confirm: () => null,
      contextFor: never,
      countQuestion: never,
      answersUnknown: never,
      settings: () => ({}) as ReturnType<DoorPorts['settings']>,
      // Each is told that there are too many.
      opened: () => 'limit.connections',
      identified: never,
      closed: () => {},
    };
    const answers = { v4: address, v6: null };
    const door = await openGatewayDoor({ address, ports: [], taken: [], answers, sandboxAt: () => null }, ports);
    undo.push(() => door.close());
    expect(await stop()).toBe('0');
  });
});
