import { openGateway } from '../support/redis-gateways.ts';
import { RedisServer } from '../support/redis-server.ts';
import { describeStore } from '../support/store-contract.ts';

describeStore('redis', async () => {
  // With TLS, and with no more rights than the documentation asks for.
  const server = await RedisServer.start({ guarded: true });
  const [one, other] = [await openGateway(server, 'one'), await openGateway(server, 'other')];
  return {
    one,
    other,
    async close() {
      await one.close();
      await other.close();
      await server.stop();
    },
  };
});
