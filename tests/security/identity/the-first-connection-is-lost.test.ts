// Must not happen: the first connection of a command dies with the helper that opened the door, because both held the
// listening socket for a moment.
import { readdirSync, readlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeNamespaceHandles, openNamespaceDoor } from '../../../src/sandbox/namespace/open-namespace-door.ts';
import { makeNamespace, type TestNamespace } from '../../support/namespace.ts';

const connections = 40;
let namespace: TestNamespace;

beforeAll(async () => {
  namespace = await makeNamespace();
});
afterAll(() => namespace.end());

describe('every connection is served from the first on', () => {
  test('connections made the moment the door is open, by a command that was waiting for it', async () => {
    const script = `
import socket
sockets = [socket.create_connection(("203.0.113.5", 443), 5) for _ in range(${connections})]
print(sum(s.recv(4) == b"here" for s in sockets))`;
    for (let round = 0; round < 4; round++) {
      const handles = await openNamespaceDoor({ pid: namespace.pid, ports: [443] });
      // Nothing of ours is in the namespace any more when the door is handed over.
      expect(processesIn(namespace)).toEqual([namespace.pid]);
      handles.tcp.get(443)!.on('connection', (socket) => socket.end('here'));
      const run = await namespace.run(['python3', '-c', script]);
      closeNamespaceHandles(handles);
      expect(run.stdout).toBe(`${connections}\n`);
    }
  });
});

function processesIn({ pid }: TestNamespace): number[] {
  const wanted = networkOf(pid);
  return readdirSync('/proc')
    .map(Number)
    .filter((one) => one > 0 && networkOf(one) === wanted);
}

/** Null: it has ended, or may not be looked at. */
function networkOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}
