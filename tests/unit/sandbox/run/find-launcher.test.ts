import { describe, expect, test } from 'vitest';
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
      /with Docker only/,
    );
  });

  test('without bubblewrap it says what to install, and does not take less instead', async () => {
    const { createBubblewrapLauncher } = await import('../../../../src/sandbox/namespace/bubblewrap.ts');
    expect(() => createBubblewrapLauncher(() => null)).toThrow(
      expect.objectContaining({ name: 'LaunchError', hint: expect.stringContaining('apt install bubblewrap') }),
    );
  });

  test('plain unshare says loudly what it does not isolate, and more when nothing can load the filter', async () => {
    const { createPlainUnshareLauncher } = await import('../../../../src/sandbox/namespace/plain-unshare.ts');
    expect(createPlainUnshareLauncher(1000).notice.join()).toMatch(/DOES NOT ISOLATE FILES/);
    expect(createPlainUnshareLauncher(1000, () => null).notice.join()).toMatch(/SYSTEM CALLS ARE NOT FILTERED/);
    expect(() => createPlainUnshareLauncher(0)).toThrow(/does not contain root/);
  });
});
