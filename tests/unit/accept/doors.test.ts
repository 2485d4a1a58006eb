import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { Doors } from '../../../src/accept/doors.ts';

function never(): never {
  throw new Error('nobody called');
}

test('a port that one gateway door cannot have is opened by the others, and told', async () => {
  const doors = new Doors({
    ports: {
      serve: never,
      admit: never,
      allows: never,
      tunnels: never,
      confirm: () => null,
      contextFor: never,
      settings: never,
    },
    maxConnections: () => 1,
  });
  const [crowded, free] = ['127.81.2.1', '127.81.2.2'];
  const occupant = createServer().listen(8444, crowded);
  await once(occupant, 'listening');
  try {
    for (const address of [crowded, free]) {
      const answers = { v4: address, v6: null };
      await doors.openGateway({ address, ports: [], taken: [], answers, sandboxAt: () => null }, never);
    }
    await expect(doors.listenOn([8444])).rejects.toThrow(`${crowded}:8444 (EADDRINUSE)`);
    const taken = createServer().listen(8444, free);
    await expect(once(taken, 'listening')).rejects.toThrow('EADDRINUSE');
  } finally {
    occupant.close();
    await doors.drain(0);
  }
});
