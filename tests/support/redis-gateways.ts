// Stores of pretend gateways on one Redis, with the CA they share; closed when the test file ends.

import { openRedisStore } from '../../src/gateway/store/redis/redis-store.ts';
import { createSealedBox } from '../../src/kit/sealed-box.ts';
import { createLog } from '../../src/kit/text/log.ts';
import { afterThisFile } from './after-this-file.ts';
import type { RedisServer } from './redis-server.ts';

export interface GatewayOptions {
  /** Whose key seals, and whose fingerprint is shown: another one is another CA. */
  readonly ca?: string;
  readonly log?: (line: string) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export async function openGateway(
  { settings, password }: Pick<RedisServer, 'settings' | 'password'>,
  gateway: string,
  { ca = 'the common CA', log = () => {}, now = Date.now }: GatewayOptions = {},
) {
  const store = await openRedisStore({
    settings,
    password: () => Promise.resolve(password),
    seal: createSealedBox(Buffer.from(ca), 'store'),
    gateway,
    caFingerprint: `fingerprint of ${ca}`,
    log: createLog({ write: log }),
    now,
  });
  afterThisFile(() => store.close());
  return store;
}
