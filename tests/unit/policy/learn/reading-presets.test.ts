import { expect, test } from 'vitest';
import { readingPresets } from '../../../../src/policy/learn/conclude.ts';
import { embeddedDefault } from '../../../../src/policy/load/load-policy.ts';
import { policyOf, pretendMachine } from '../pretend-machine.ts';

const machine = pretendMachine({ env: { npm_config_registry: 'https://registry.example/' } });

test('presets of package managers that the policy lacks; what one allows beyond reading is said of it', async () => {
  const found = await readingPresets(await policyOf('version: 1\n', machine), machine);
  expect(found.map(({ name }) => name)).toEqual(expect.arrayContaining(['npm', 'pypi', 'crates', 'golang']));
  for (const { name, hosts, also } of found) {
    const policy = await policyOf(`version: 1\nallow: [{ preset: ${name} }]\n`, machine);
    expect(policy.credentials.size).toBe(0);
    expect(new Set(policy.allow.map(({ host }) => host.text))).toEqual(new Set(hosts.map(({ host }) => host)));
    const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';
    const onlyReads = policy.allow.every(({ methods }) => methods !== null && [...methods].every(isRead));
    expect([name, onlyReads]).toEqual([name, also === undefined]);
  }
});

test('what the policy has is not proposed again, nor what brings a credential', async () => {
  const found = await readingPresets(await policyOf(embeddedDefault, machine), machine);
  const names = found.map(({ name }) => name);
  for (const name of ['npm', 'pypi', 'github', 'anthropic']) expect(names).not.toContain(name);
});
