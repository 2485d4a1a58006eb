// From inside a real sandbox: the user's keys and logins, other people's folders, the files that only root may read, and the
// sockets of the host. Each attempt has a harmless counterpart that succeeds, so that a refusal means something.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MountGround, makeMountGround } from '../../support/mount-ground.ts';

const planted = 'PLANTED-SECRET';
const configFile = '/etc/sallyport-test-closed.conf';
let ground: MountGround;
let output: string;

beforeAll(async () => {
  ground = makeMountGround();
  const { home, project, state } = ground;
  for (const path of [
    '.ssh/id_ed25519',
    '.aws/credentials',
    '.netrc',
    '.config/gh/hosts.yml',
    '.claude/.credentials.json',
  ])
    ground.file(`${home}/${path}`, planted);
  for (const path of [`${state}/ca/key.pem`, `${project}/.netrc`, `${project}/deep/down/.git-credentials`])
    ground.file(path, planted);
  ground.file(`${project}/secrets/key`, planted);
  ground.file(`${project}/readme.txt`, 'HARMLESS');
  ground.link(`${project}/way-to-ssh`, `${home}/.ssh`);
  ground.link(`${project}/way-to-root`, '/proc/1/root');
  ground.file('neighbour/letters.txt', planted);
  writeFileSync(configFile, planted, { mode: 0o600 });
  await ground.socket(`${project}/agent.sock`);
  const paths = [
    ...[`${home}/.ssh/id_ed25519`, `${home}/.aws/credentials`, `${home}/.netrc`, `${home}/.config/gh/hosts.yml`],
    ...[
      `${home}/.claude/.credentials.json`,
      `${state}/ca/key.pem`,
      '.netrc',
      'deep/down/.git-credentials',
      'secrets/key',
    ],
    ...[
      'way-to-ssh/id_ed25519',
      `way-to-root${home}/.ssh/id_ed25519`,
      `${ground.top}/neighbour/letters.txt`,
      configFile,
    ],
  ];
  const script = [
    ...paths.map((path) => `cat '${path}' 2>/dev/null`),
    `grep -rs ${planted} "$HOME" /tmp /etc /var /run 2>/dev/null`,
    `umount .netrc 2>/dev/null; unshare -Urm sh -c 'umount .netrc; cat .netrc' 2>/dev/null`,
    'mv deep deeper && cat deeper/down/.git-credentials',
    'cat readme.txt; echo; wc -c < /etc/shadow; id -un; ls -A /run /sys /srv /mnt 2>/dev/null',
    `python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('agent.sock')" 2>&1 | tail -n 1`,
    'touch /usr/x /etc/x /opt/x; echo END',
  ].join('\n');
  output = (await ground.run(script, { hide: [`${project}/secrets/key`] })).output;
});
afterAll(() => {
  rmSync(configFile, { force: true });
  ground.remove();
});

describe('from inside a sandbox', () => {
  test('no planted secret is read, by name, by link, by search or from under a mask', () => {
    expect(output).toContain('END');
    expect(output).not.toContain(planted);
  });

  test('what was let in is read as ever', () => {
    expect(output).toContain('HARMLESS');
  });

  test('the passwords of the host are an empty file, and the user has a name', () => {
    expect(output).toMatch(/^0\ndev$/m);
  });

  test('a socket in the working directory leads nowhere', () => {
    expect(output).toMatch(/ConnectionRefusedError|PermissionError|OSError/);
  });

  test('the system cannot be written', () => {
    expect(output.match(/Read-only file system/g)).toHaveLength(3);
  });

  test('the same files are there outside: it was the sandbox that did not show them', () => {
    expect(execFileSync('cat', [`${ground.home}/.ssh/id_ed25519`], { encoding: 'utf8' })).toBe(planted);
    expect(execFileSync('cat', [`${ground.project}/.netrc`], { encoding: 'utf8' })).toBe(planted);
  });
});
