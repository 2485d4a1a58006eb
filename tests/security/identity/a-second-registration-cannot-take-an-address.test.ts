import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConflictError } from '../../../src/stages/identify/registry/registration-error.ts';
import { openTestRegistry, type TestRegistry } from '../../support/memory-registry.ts';

let t: TestRegistry;

beforeEach(async () => {
  t = await openTestRegistry();
});

afterEach(() => t.registry.close());

describe('a live registration keeps its address and its id', () => {
  test.each([
    ['172.18.0.5', '172.18.0.5'],
    ['172.18.0.5', '::ffff:172.18.0.5'],
    ['172.18.0.5', '::FFFF:AC12:0005'],
    ['::ffff:172.18.0.5', '172.18.0.5'],
    ['fd00::5', 'FD00:0:0:0:0:0:0:5'],
    ['fd00::5', 'fd00::0:5'],
  ])('%s is not given away as %s', async (held, asked) => {
    const { record } = await t.registry.register({ id: 'first', container_ip: held, repos: ['a/b'] });
    await expect(t.registry.register({ id: 'second', container_ip: asked, repos: ['x/y'] })).rejects.toThrow(
      ConflictError,
    );
    expect(t.registry.find(held)).toBe(record);
    expect(t.registry.lookUpId('second')).toBeUndefined();
    expect(t.backup.sandboxes.map((one) => one.id)).toEqual(['first']);
  });

  test('listing the address without the proof `ip` does not take it either', async () => {
    await t.registry.register({ id: 'first', container_ip: '172.18.0.5' });
    const again = t.registry.register({ id: 'second', container_ip: '172.18.0.5', proof: ['secret'] });
    await expect(again).rejects.toMatchObject({ status: 409, code: 'sandbox.conflict' });
  });

  test('a burst of registrations leaves exactly one', async () => {
    const burst = Array.from({ length: 20 }, (_, i) =>
      t.registry.register({ id: `s${i}`, container_ip: '172.18.0.5' }),
    );
    const settled = await Promise.allSettled(burst);
    expect(settled.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
    expect(t.registry.list()).toHaveLength(1);
  });

  test('an id cannot pose as an address, so looking one up never finds the other', async () => {
    await expect(t.registry.register({ id: '172.18.0.5' })).rejects.toMatchObject({ status: 400 });
  });
});
