// Sandboxes in containers get files of a login with placeholders from the gateway's folder: when the policy changes while it
// runs, so do they.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { startGateway } from '../../src/gateway/service.ts';
import { createLog } from '../../src/kit/text/log.ts';
import { eventually } from '../support/eventually.ts';

test('a login that comes into the configuration is published, and is gone with it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-published-'));
  const config = join(folder, 'sallyport.yaml');
  const write = (credentials: object): void =>
    writeFileSync(
      config,
      stringify({ version: 1, listen: { proxy: '127.0.0.1:0' }, allow: [{ preset: 'openai' }], credentials }),
    );
  write({});
  const publish = join(folder, 'published');
  const log = createLog({ level: 'silent' });
  const gateway = await startGateway({ home: join(folder, 'state'), config, publish, log });
  const login = { chatgpt: { source: { login: { agent: 'codex', file: join(folder, 'auth.json') } } } };
  const stub = join(publish, 'home/.codex/auth.json');
  try {
    expect(existsSync(stub)).toBe(false);
    write(login);
    await gateway.reload();
    await eventually(() => existsSync(stub), 'the login is published');
    expect(readFileSync(stub, 'utf8')).toContain('sallyport-placeholder-for-chatgpt');
    write({});
    await gateway.reload();
    await eventually(() => !existsSync(join(publish, 'home')), 'the login is gone');
    // Many in a row: they are written one after the other, so the last one is what is there.
    for (let i = 0; i < 12; i++) {
      write(i % 2 === 0 ? {} : login);
      await gateway.reload();
    }
    await eventually(() => existsSync(stub), 'the last of many is published');
    await gateway.stop();
    expect(existsSync(stub)).toBe(true);
  } finally {
    await gateway.stop();
    rmSync(folder, { recursive: true });
  }
});
