import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedStore } from '../../src/gateway/store/embedded-store.ts';
import { FileRegistrations } from '../../src/gateway/store/file-registrations.ts';
import type { StoredRegistration } from '../../src/path/shared-store.ts';
import { describeStore } from '../support/store-contract.ts';

describeStore('embedded', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-store-'));
  const registrations = new FileRegistrations({
    path: join(directory, 'registry.json'),
    read: (sandbox) => sandbox as StoredRegistration,
  });
  const store = createEmbeddedStore({ registrations });
  return {
    one: store,
    other: store,
    async close() {
      await store.close();
      rmSync(directory, { recursive: true });
    },
  };
});
