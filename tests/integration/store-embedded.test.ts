import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredRegistration } from '../../src/flow/shared-store.ts';
import { createEmbeddedStore } from '../../src/store/embedded-store.ts';
import { FileRegistrations } from '../../src/store/file-registrations.ts';
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
