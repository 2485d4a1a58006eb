import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findTrustedCas } from '../../../src/sandbox/uninstall/uninstall-config.ts';
import { makeUninstallGround, stateFiles, type UninstallGround } from '../../support/uninstall-ground.ts';

let ground: UninstallGround;

beforeEach(() => {
  ground = makeUninstallGround();
});

afterEach(() => ground.remove());

/** What is left of a tree when the state directory and the configuration are gone. */
function withoutOurs(tree: readonly string[]): string[] {
  return tree.filter((path) => !/^user\/\.(?:local\/state|config)\/sallyport\//.test(path));
}

describe('sallyport uninstall removes what was put on this host, and nothing else', () => {
  test('state and configuration are gone, and everything beside them is as it was', async () => {
    const before = ground.tree();
    const { code, out } = await ground.uninstall(['--yes']);
    expect(code).toBe(0);
    expect(ground.tree()).toEqual(withoutOurs(before));
    expect(existsSync(ground.home)).toBe(false);
    expect(existsSync(join(ground.userHome, '.config/sallyport'))).toBe(false);
    for (const name of ['ca', 'journal', 'home', 'registry.json'])
      expect(out).toContain(`removed  ${ground.home}/${name}\n`);
    expect(out).toContain(`removed  ${ground.config}\n`);
    expect(out).toMatch(/project\/sallyport\.yaml belongs to the project/);
  });

  test('a dry run lists the same and changes nothing', async () => {
    const before = ground.tree();
    const dry = await ground.uninstall(['--dry-run', '--json']);
    expect(dry.code).toBe(0);
    expect(ground.tree()).toEqual(before);
    const would = (JSON.parse(dry.out) as { would_remove: unknown[] }).would_remove;
    const done = JSON.parse((await ground.uninstall(['--yes', '--json'])).out) as Record<string, unknown[]>;
    expect(done.removed).toEqual(would);
    expect(done.failed).toEqual([]);
    expect(would).toContainEqual({ kind: 'state', what: join(ground.home, 'ca') });
    expect(would).toContainEqual({ kind: 'configuration', what: ground.config });
  });

  test('without a terminal it needs --yes, and says how to look first', async () => {
    const before = ground.tree();
    const { code, err } = await ground.uninstall([]);
    expect(code).toBe(2);
    expect(err).toContain('--dry-run');
    expect(err).toContain('--yes');
    expect(ground.tree()).toEqual(before);
  });

  test('--keep-journal leaves every journal where it is, and no key', async () => {
    const { code, out } = await ground.uninstall(['--yes', '--keep-journal']);
    expect(code).toBe(0);
    const left = ground.tree().filter((path) => path.startsWith('user/.local/state/sallyport/') && !path.endsWith('/'));
    expect(left).toEqual([
      'user/.local/state/sallyport/journal/head',
      'user/.local/state/sallyport/journal/journal-000001.jsonl',
      'user/.local/state/sallyport/journal/lock',
      'user/.local/state/sallyport/runs/999999-1/journal/head',
      'user/.local/state/sallyport/runs/999999-1/journal/lock',
    ]);
    expect(out).toContain(`${ground.home}/journal is kept, as asked`);
  });

  test('what is in the state directory but not of our making stays, and is named', async () => {
    ground.put('user/.local/state/sallyport/my notes.txt', 'mine\n');
    const { code, out } = await ground.uninstall(['--yes']);
    expect(code).toBe(0);
    expect(readFileSync(join(ground.home, 'my notes.txt'), 'utf8')).toBe('mine\n');
    expect(existsSync(join(ground.home, 'ca'))).toBe(false);
    expect(out).toContain(`rm -r -- '${ground.home}/my notes.txt'`);
  });

  test('other files beside the configuration stay', async () => {
    const other = ground.put('user/.config/sallyport/corp-ca.pem');
    await ground.uninstall(['--yes']);
    expect(existsSync(other)).toBe(true);
    expect(existsSync(ground.config)).toBe(false);
  });

  test('a configuration that is a link goes, its target stays', async () => {
    const target = ground.put('user/dotfiles/sallyport.yaml', 'version: 1\n');
    rmSync(ground.config);
    symlinkSync(target, ground.config);
    const { out } = await ground.uninstall(['--dry-run']);
    expect(out).toContain('a link, whose target stays');
    await ground.uninstall(['--yes']);
    expect(existsSync(ground.config)).toBe(false);
    expect(existsSync(target)).toBe(true);
  });

  test('twice is as good as once: nothing is left to remove, exit 0', async () => {
    await ground.uninstall(['--yes']);
    const { code, out } = await ground.uninstall(['--yes']);
    expect(code).toBe(0);
    expect(out).toContain('There was nothing of Sallyport to remove here.');
  });

  test('every name that a gateway is known to make is removed by it', async () => {
    const { out } = await ground.uninstall(['--dry-run']);
    const tops = new Set(stateFiles.map((name) => name.split('/')[0]!));
    for (const name of tops) expect(out).toContain(`  ${ground.home}/${name}  `);
  });
});

describe('a CA among the system’s', () => {
  test('is named with the way to remove it, and only when it is one of ours', () => {
    const folder = join(ground.folder, 'anchors');
    ground.put('anchors/readme.txt', 'no certificate');
    ground.put('anchors/broken.crt', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    for (const [file, subject] of [
      ['ours.crt', '/CN=Sallyport CA host 01234567'],
      ['foreign.crt', '/CN=Corporate CA of Sallyportland'],
    ] as const) {
      const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', '/dev/null'];
      execFileSync('openssl', ['req', '-x509', ...key, '-subj', subject, '-out', join(folder, file)], {
        stdio: 'pipe',
      });
    }
    const found = findTrustedCas([
      [folder, 'update-ca-certificates --fresh'],
      ['/nonexistent', 'nothing'],
    ]);
    expect(found.map(({ what }) => what)).toEqual([join(folder, 'ours.crt')]);
    expect(found[0]!.how).toContain('update-ca-certificates --fresh');
  });
});
