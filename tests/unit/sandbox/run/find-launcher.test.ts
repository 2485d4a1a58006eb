import { describe, expect, test } from 'vitest';
import { bubblewrapPackage } from '../../../../src/sandbox/run/bubblewrap-package.ts';
import { findLauncher } from '../../../../src/sandbox/run/find-launcher.ts';

const environment = process.env;

describe('choosing a launcher', () => {
  test('bubblewrap when nothing is asked for, with nothing to warn of', async () => {
    expect(await findLauncher({ environment })).toMatchObject({ name: 'bubblewrap', notice: [] });
  });

  test('an image asks for Docker, and Docker for an image', async () => {
    expect((await findLauncher({ image: 'debian:12', environment })).name).toBe('docker');
    await expect(findLauncher({ wanted: 'docker', environment })).rejects.toMatchObject({
      name: 'LaunchError',
      hint: expect.stringContaining('--image'),
    });
    await expect(findLauncher({ wanted: 'bubblewrap', image: 'debian:12', environment })).rejects.toThrow(
      /with Docker and Podman only/,
    );
  });

  test('without bubblewrap the one that needs no package, and one line of what it lacks and how to have the other', async () => {
    const only =
      (...names: string[]) =>
      (name: string) =>
        names.includes(name) ? `/usr/bin/${name}` : null;
    const launcher = await findLauncher({ environment }, only('apt-get'));
    expect(launcher.name).toBe('namespaces');
    expect(launcher.notice).toEqual([
      expect.stringMatching(/^bubblewrap is not installed, .* the same walls .* apt-get install .*bubblewrap$/),
    ]);
    const without = (await findLauncher({ environment }, only())).notice.join();
    expect(without).toMatch(/To have it: install the package bubblewrap$/);
    // Asked for by name, it is not warned of.
    expect((await findLauncher({ wanted: 'namespaces', environment }, only())).notice).toEqual([]);
  });

  test('who asks for bubblewrap by name gets no other, but is told what to install', async () => {
    await expect(findLauncher({ wanted: 'bubblewrap', environment }, () => null)).rejects.toMatchObject({
      name: 'LaunchError',
      message: 'bwrap is not installed',
      hint: expect.stringMatching(/^install bubblewrap, .*--launcher namespaces/),
    });
  });

  test.each([
    ['apt-get', 'apt-get install -y --no-install-recommends bubblewrap'],
    ['dnf', 'dnf install -y bubblewrap'],
    ['pacman', 'pacman -S --noconfirm bubblewrap'],
    ['zypper', 'zypper --non-interactive install bubblewrap'],
    ['apk', 'apk add bubblewrap'],
  ])('with %s it is installed by its own command', (manager, command) => {
    const words = bubblewrapPackage((name) => (name === manager ? `/usr/bin/${name}` : null));
    expect(words?.join(' ')).toBe(`/usr/bin/${command}`);
  });

  test('plain unshare says loudly what it does not isolate, and more when nothing can load the filter', async () => {
    const { createPlainUnshareLauncher } = await import('../../../../src/sandbox/namespace/plain-unshare.ts');
    expect(createPlainUnshareLauncher(1000).notice.join()).toMatch(/DOES NOT ISOLATE FILES/);
    expect(createPlainUnshareLauncher(1000, () => null).notice.join()).toMatch(/SYSTEM CALLS ARE NOT FILTERED/);
    expect(() => createPlainUnshareLauncher(0)).toThrow(/does not contain root/);
  });
});
