import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HostFiles } from '../../../../src/sandbox/files/host-files.ts';
import { systemMounts } from '../../../../src/sandbox/files/system-mounts.ts';
import { sandboxShell, writeSandboxEtc } from '../../../../src/sandbox/stubs/sandbox-etc.ts';
import { filesBelow } from '../../../support/files-below.ts';
import { type MountGround, makeMountGround } from '../../../support/mount-ground.ts';

let ground: MountGround;
let host: HostFiles;
beforeAll(() => {
  ground = makeMountGround();
  for (const folder of ['usr/bin', 'lib32', 'etc/ssh', 'etc/ssl/private', 'sys', 'home/other', 'srv', 'mnt', 'snap'])
    ground.folder(`host/${folder}`);
  ground.link('host/bin', 'usr/bin');
  ground.link('host/lib', 'usr/lib');
  ground.link('host/etc/resolv.conf', '../run/systemd/resolve/stub-resolv.conf');
  for (const name of ['shadow', 'ssh/ssh_host_key']) ground.file(`host/etc/${name}`, '', 0o640);
  for (const name of ['passwd', 'group', 'hosts', 'ssh/moduli']) ground.file(`host/etc/${name}`, '', 0o644);
  ground.file('host/etc/ssl/private/key.pem', '', 0o644);
  chmodSync(`${ground.top}/host/etc/ssl/private`, 0o700);
  ground.file('host/usr/bin/bash', '', 0o755);
  host = filesBelow(`${ground.top}/host`);
});
afterAll(() => ground.remove());

describe('the system of the host, as a sandbox sees it', () => {
  test('is read-only, with links where the host has links, and nothing else of the host', () => {
    const { mounts } = systemMounts(host);
    expect(mounts.filter(({ kind }) => kind !== 'masked-file' && kind !== 'masked-folder')).toEqual([
      { kind: 'read-only', source: '/usr', target: '/usr' },
      { kind: 'link', target: '/bin', to: 'usr/bin' },
      { kind: 'link', target: '/lib', to: 'usr/lib' },
      { kind: 'read-only', source: '/lib32', target: '/lib32' },
      { kind: 'read-only', source: '/etc', target: '/etc' },
      { kind: 'empty', target: '/run' },
      { kind: 'link', target: '/var/run', to: '/run' },
      { kind: 'empty', target: '/var/tmp' },
    ]);
  });

  test('has masks over what not everybody may read', () => {
    const masks = systemMounts(host).mounts.filter(({ kind }) => kind.startsWith('masked'));
    expect(masks).toEqual([
      { kind: 'masked-file', target: '/etc/shadow' },
      { kind: 'masked-file', target: '/etc/ssh/ssh_host_key' },
      { kind: 'masked-folder', target: '/etc/ssl/private' },
    ]);
  });

  test('has no mask over what this user cannot read anyway', () => {
    const { mounts } = systemMounts({ ...host, canRead: () => false });
    expect(mounts.filter(({ kind }) => kind.startsWith('masked'))).toEqual([]);
  });
});

describe('the files of /etc that a sandbox has of its own', () => {
  const user = { uid: 1234, gid: 1235, name: 'dev' };
  const write = (flavour: 'host' | 'image' | 'whole', who = user) =>
    writeSandboxEtc(
      { flavour, folder: ground.folder(`made-${flavour}`), user: who, home: '/home/dev', shell: '/bin/bash' },
      host,
    );
  const read = (name: string) => host.readText && filesBelow(ground.top).readText(`/made-host/${name}`, 9999);

  test('name the user, root and nobody, and no one else', () => {
    write('host');
    expect(read('passwd')).toBe(
      'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\ndev:x:1234:1235::/home/dev:/bin/bash\n',
    );
    expect(read('group')).toBe('root:x:0:\nnogroup:x:65534:\ndev:x:1235:\n');
  });

  test('ask the door for every name', () => {
    write('host');
    expect(read('resolv.conf')).toMatch(/^nameserver 127\.0\.0\.1$/m);
  });

  test('are bound where a link of the host leads, and only over what the host has', () => {
    expect(write('host').map(({ target }) => target)).toEqual([
      '/run/systemd/resolve/stub-resolv.conf',
      '/etc/hosts',
      '/etc/passwd',
      '/etc/group',
    ]);
    expect(write('whole').map(({ target }) => target)).toEqual(['/run/systemd/resolve/stub-resolv.conf', '/etc/hosts']);
    expect(write('image').map(({ target }) => target)).toContain('/etc/resolv.conf');
  });

  test('let no name make a second line', () => {
    write('host', { uid: 1000, gid: 1000, name: 'x:y\nevil:' });
    expect(read('passwd')).toMatch(/^x_y_evil_:x:1000:1000:/m);
  });

  test('a shell outside the system is not promised', () => {
    expect(sandboxShell('/usr/bin/bash', host)).toBe('/usr/bin/bash');
    expect(sandboxShell('/home/dev/bin/zsh', host)).toBe('/bin/sh');
    expect(sandboxShell('/usr/bin/fish', host)).toBe('/bin/sh');
  });
});
