import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findRules } from '../../../src/sandbox/uninstall/uninstall-rules.ts';
import { makeNamespace, type TestNamespace } from '../../support/namespace.ts';
import { makeUninstallGround, type UninstallGround } from '../../support/uninstall-ground.ts';

const mark = `sallyport firewall of br0, sha256 ${'0'.repeat(64)}`;
const isMark = (): boolean => true;
let ground: UninstallGround;
let namespace: TestNamespace;

beforeAll(async () => {
  ground = makeUninstallGround();
  namespace = await makeNamespace({ userNamespace: false });
  // The command's own nft works in the namespace of the test, never in this machine's.
  const script = `#!/bin/sh\nexec nsenter --target ${namespace.pid} --net -- /usr/sbin/nft "$@"\n`;
  ground.put('programs/nft', script);
  chmodSync(join(ground.programs, 'nft'), 0o755);
});

afterAll(async () => {
  await namespace.end();
  ground.remove();
});

async function nft(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await namespace.run(['nft', ...words]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

test('only tables with our name and our mark go; one that has only the name is told', async () => {
  await nft('add table inet filter { comment "sallyport is mentioned here"; }');
  await nft('add table inet sallyport_theirs { comment "sallyport firewall of br0, by hand"; }');
  // A mark further in is not the table's.
  await nft(`add table inet sallyport_chain; add chain inet sallyport_chain x { comment "${mark}"; }`);
  await nft(`add table bridge sallyport_ours { comment "${mark}"; }`);
  await nft('add table ip notsallyport_x { comment "sallyport"; }');
  const { code, out } = await ground.uninstall(['--yes']);
  expect(code).toBe(0);
  expect((await nft('list', 'tables')).trim().split('\n').sort()).toEqual([
    'table inet filter',
    'table inet sallyport_chain',
    'table inet sallyport_theirs',
    'table ip notsallyport_x',
  ]);
  expect(out).toContain('removed  table bridge sallyport_ours');
  expect(out).toContain('table inet sallyport_theirs has our name, but not our mark');
});

test('an ordinary user is told that rules were not looked for, and how to', async () => {
  const { removable, kept } = await findRules({ env: ground.env, isMark, isRoot: false });
  expect(removable).toEqual([]);
  expect(kept[0]).toMatchObject({ why: 'were not looked for: only root can look at them' });
  expect(kept[0]!.how).toContain('sudo sallyport firewall remove --all');
});

test('where nft cannot be asked, that is said and not taken for "no rules"', async () => {
  ground.put('programs/nft', '#!/bin/sh\necho "Error: no netlink" >&2\nexit 1\n');
  const { removable, kept } = await findRules({ env: ground.env, isMark });
  expect(removable).toEqual([]);
  expect(kept[0]!.why).toContain('no netlink');
});
