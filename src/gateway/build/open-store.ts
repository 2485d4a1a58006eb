// Opens the store that the configuration names: in this process, with registrations in a file, or the Redis that several
// gateways share. Chosen once, at the start: a gateway does not move from one to another while it serves.
import { X509Certificate } from 'node:crypto';
import { openGatewayName } from '../../kit/files/gateway-name.ts';
import type { Places } from '../../kit/files/home.ts';
import { createSealedBox } from '../../kit/sealed-box.ts';
import type { Log } from '../../kit/text/log.ts';
import type { SharedStore } from '../../path/shared-store.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { Ca } from '../../stages/accept/tls/ca.ts';
import type { Sharing } from '../../stages/identify/registry/registry.ts';
import { readStored } from '../../stages/identify/registry/stored-registration.ts';
import { openStorePassword } from '../../stages/inject/store-password.ts';
import { createEmbeddedStore } from '../store/embedded-store.ts';
import { FileRegistrations } from '../store/file-registrations.ts';

export interface OpenStoreParts {
  readonly policy: () => CompiledPolicy;
  readonly ca: Ca;
  readonly places: Pick<Places, 'registryFile' | 'gatewayNameFile'>;
  readonly log: Log;
}

export interface OpenedStore {
  readonly store: SharedStore;
  /** How registrations of other gateways are taken; null: there are none. */
  readonly sharing: Sharing | null;
  /** Rejects when gateways of this store know their sandboxes by certificates of another CA. */
  agreeOnIdentityCa(certificatePem: string): Promise<void>;
  close(): Promise<void>;
}

export async function openStore(parts: OpenStoreParts): Promise<OpenedStore> {
  const settings = parts.policy().store;
  return settings === null ? openEmbedded(parts) : openRedis(parts, settings);
}

function openEmbedded({ places, log }: OpenStoreParts): OpenedStore {
  const registrations = new FileRegistrations({
    path: places.registryFile,
    read: readStored,
    onFailure: (error) => log.error('the registry could not be written', { error }),
  });
  const store = createEmbeddedStore({ registrations });
  return {
    store,
    sharing: null,
    agreeOnIdentityCa: async () => {},
    async close() {
      await store.close();
      await registrations.close();
    },
  };
}

async function openRedis(
  { policy, ca, places, log }: OpenStoreParts,
  settings: NonNullable<CompiledPolicy['store']>,
): Promise<OpenedStore> {
  const gateway = await openGatewayName(places.gatewayNameFile);
  const sharing = sharingOf(gateway, policy);
  // All gateways of a store have the same CA, so they have this key, and whoever has it is the CA anyway.
  const secret = ca.issuer.key.export({ type: 'pkcs8', format: 'der' });
  // The client takes a tenth of a second to load, which a gateway without a store need not spend.
  const { openRedisStore } = await import('../store/redis/redis-store.ts');
  const store = await openRedisStore({
    settings,
    password: openStorePassword(settings.password, process.env),
    seal: createSealedBox(secret, 'store'),
    gateway,
    caFingerprint: ca.fingerprint,
    graceMs: sharing.graceMs,
    log,
  });
  return {
    store,
    sharing,
    agreeOnIdentityCa: (pem) => store.agreeOn('identity-ca', new X509Certificate(pem).fingerprint256),
    close: () => store.close(),
  };
}

/** The store itself is chosen at the start; how it is used may change with the policy. */
export function sharingOf(gateway: string, policy: () => CompiledPolicy): Sharing {
  return {
    gateway,
    sharedAddresses: () => policy().store?.sharedAddresses ?? false,
    graceMs: () => policy().store?.graceMs ?? 0,
  };
}

/** Away for so long that nobody is served: a load balancer should send sandboxes elsewhere. */
export function isPastGrace({ away }: Pick<SharedStore, 'away'>, sharing: Pick<Sharing, 'graceMs'> | null): boolean {
  return away !== null && performance.now() - away.sinceMs > (sharing?.graceMs() ?? 0);
}

/** Another store than the one that was opened at the start is asked for. */
export function storeWarnings(opened: CompiledPolicy['store'], asked: CompiledPolicy['store']): string[] {
  if (whereOf(opened) === whereOf(asked)) return [];
  const inUse = opened === null ? 'none' : opened.text;
  return [`store has changed, but is read at the start: ${inUse} stays in use until this gateway is restarted`];
}

/** Without what holds at once. */
function whereOf(settings: CompiledPolicy['store']): string {
  return JSON.stringify(settings === null ? null : { ...settings, graceMs: 0, sharedAddresses: false });
}
