import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openGatewayName } from '../../../../src/kit/files/gateway-name.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-name-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a gateway has a name of its own', () => {
  test('made once, kept after a restart, private', async () => {
    const path = join(folder, 'gateway-name');
    const name = await openGatewayName(path, 'build-7.example');
    expect(name).toMatch(/^build-7-example-[0-9a-f]{8}$/);
    expect(await openGatewayName(path, 'another')).toBe(name);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toBe(`${name}\n`);
  });

  test('two gateways on one machine have two', async () => {
    const names = await Promise.all(['a', 'b'].map((file) => openGatewayName(join(folder, file), 'host')));
    expect(new Set(names).size).toBe(2);
  });

  test('a name that is none is an error that says what to do, not another name', async () => {
    const path = join(folder, 'gateway-name');
    writeFileSync(path, 'two words\n');
    await expect(openGatewayName(path)).rejects.toThrow(/remove the file/);
  });
});
