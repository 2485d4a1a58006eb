// Attacks on files: the places where a machine keeps secrets, by their own path, by links and by /proc; devices; the system
// itself. What counts is that the file exists outside and is not there inside.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Attack, AttackFinding, Facts } from '../attack.ts';
import type { Ground } from '../ground.ts';
import { held, hole, inWords, stoppedByKernel, succeeds, unproven } from '../judge.ts';
import { type BaitName, baitPattern } from '../plant-baits.ts';
import type { Probe } from '../probe.ts';

/** In the attacker's working directory; planted. */
export const harmlessFile = 'README.md';
export const harmlessText = 'harmless words';
/** Links in the working directory, planted from outside: their names, and where they lead below the root. */
export const plantedLinks = { key: 'link-to-key', state: 'link-to-state', root: 'link-to-root' } as const;

const gone: readonly string[] = ['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR'];

const readsHarmlessFile = succeeds('a harmless file of the working directory is read the same way', (ground) => [
  { do: 'read', path: join(ground.workingDirectory, harmlessFile) },
]);

/** Each path exists outside; inside it is not there, or another file without the secret is. */
export function hiddenInside(facts: Facts, paths: readonly string[]): AttackFinding {
  const words = new Set<string>();
  for (const [i, path] of paths.entries()) {
    const observation = facts.observed[i]!;
    if (!existsSync(path)) return unproven(`${path} does not exist outside`);
    if (observation.error === null) words.add('a file without the secret is in its place');
    else if (gone.includes(observation.error)) words.add(`${observation.error}, though it exists outside`);
    else return unproven(`${path}: ${inWords(observation)}`);
  }
  return held([...words].join('; '));
}

function readAttack(name: string, tried: string, pathsIn: (ground: Ground) => readonly string[]): Attack {
  return {
    name,
    area: 'files',
    tried,
    control: readsHarmlessFile,
    attempt: (ground) => pathsIn(ground).map((path): Probe => ({ do: 'read', path })),
    judge: (facts) => hiddenInside(facts, pathsIn(facts.ground)),
  };
}

function baitAttack(name: string, tried: string, ...baits: BaitName[]): Attack {
  return readAttack(name, tried, (ground) => baits.map((bait) => pathOf(ground, bait)));
}

function pathOf({ baits }: Ground, name: BaitName): string {
  return baits.find((bait) => bait.name === name)!.path!;
}

const devices = (): string[] =>
  ['/dev/mem', '/dev/kmem', '/dev/port', '/dev/kmsg', '/dev/kvm'].filter((path) => existsSync(path));

function blockDevices(): string[] {
  const paths = readdirSync('/dev').map((name) => `/dev/${name}`);
  return paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isBlockDevice() === true).slice(0, 8);
}

function deviceAttack(name: string, tried: string, find: () => string[]): Attack {
  return {
    name,
    area: 'files',
    tried,
    missing: () => (find().length === 0 ? 'this machine has none' : null),
    control: succeeds('/dev/null is opened the same way', () => [{ do: 'open', path: '/dev/null', flags: 'r' }]),
    attempt: () => find().map((path): Probe => ({ do: 'open', path, flags: 'r' })),
    judge: (facts) =>
      facts.observed.some(({ error }) => error === null)
        ? hole('a device of the host was opened')
        : hiddenInside(facts, find()),
  };
}

export const fileAttacks: readonly Attack[] = [
  baitAttack('file-ssh-key', 'the private key in ~/.ssh', 'ssh-key'),
  baitAttack('file-cloud', 'credentials in ~/.aws, ~/.kube and ~/.docker', 'aws', 'kube', 'docker'),
  baitAttack('file-netrc', 'passwords in ~/.netrc', 'netrc'),
  baitAttack('file-npmrc', 'the token in ~/.npmrc', 'npmrc'),
  baitAttack('file-github-login', 'the logins of gh and of git', 'gh', 'git-credentials'),
  baitAttack(
    'file-agent-logins',
    'the logins of claude, codex, gemini, opencode',
    'claude',
    'codex',
    'gemini',
    'opencode',
  ),
  baitAttack('file-keyring', 'keyring, GnuPG keys and password store', 'keyring', 'gnupg', 'pass-store'),
  baitAttack('file-browser', 'passwords of Firefox and Chrome', 'firefox', 'chrome'),
  baitAttack('file-history', 'the history of the shell', 'history'),
  baitAttack('file-other-project', "another project, a neighbour's working directory", 'other-project'),
  baitAttack('file-in-project', 'logins that lie in the working directory itself', 'project-npmrc', 'project-netrc'),
  readAttack('file-gateway-state', "the gateway's CA, its key and the journal", ({ gatewayHome }) => [
    ...filesIn(join(gatewayHome, 'ca')),
    ...filesIn(join(gatewayHome, 'journal')),
  ]),
  readAttack('file-gateway-credentials', 'the files the gateway reads its credentials from', ({ baits }) =>
    baits.filter(({ name }) => name.startsWith('credential ')).map(({ path }) => path!),
  ),
  {
    ...readAttack(
      'file-by-planted-link',
      'links in the working directory that lead to secrets',
      ({ home, gatewayHome }) => [
        join(home, '.ssh/id_ed25519'),
        join(gatewayHome, 'ca', 'ca.pem'),
        join(home, '.ssh/id_ed25519'),
      ],
    ),
    attempt: ({ workingDirectory, home }) => [
      { do: 'read', path: join(workingDirectory, plantedLinks.key) },
      { do: 'read', path: join(workingDirectory, plantedLinks.state, 'ca', 'ca.pem') },
      { do: 'read', path: join(workingDirectory, plantedLinks.root, home, '.ssh/id_ed25519') },
    ],
  },
  {
    ...readAttack(
      'file-by-proc-root',
      'the key by way of /proc/1/root, /proc/self/root and the working directory',
      ({ home }) => Array.from({ length: 3 }, () => join(home, '.ssh/id_ed25519')),
    ),
    attempt: ({ home, workingDirectory }) => [
      { do: 'read', path: `/proc/1/root${home}/.ssh/id_ed25519` },
      { do: 'read', path: `/proc/self/root/../..${home}/.ssh/id_ed25519` },
      { do: 'read', path: `${workingDirectory}/../.ssh/id_ed25519` },
    ],
  },
  {
    name: 'file-search',
    area: 'files',
    tried: 'every readable file below home, /tmp, /run, /var, /etc, /opt for a planted secret',
    control: {
      shows: 'the same search finds the words of a harmless file',
      probes: ({ workingDirectory }) => [{ do: 'search', roots: [workingDirectory], pattern: harmlessText }],
      fails: ([found]) => (found?.text.includes(harmlessFile) === true ? null : 'the search finds nothing'),
    },
    attempt: ({ home }) => [
      { do: 'search', roots: [home, '/tmp', '/run', '/var', '/etc', '/opt', '/sallyport'], pattern: baitPattern },
    ],
    judge: ({ observed: [found] }) =>
      found?.error === null ? held(`${found.text.trim()}, no planted value`) : unproven(inWords(found!)),
  },
  {
    name: 'file-shadow',
    area: 'files',
    tried: 'the password hashes in /etc/shadow',
    missing: () => (existsSync('/etc/shadow') ? null : 'this machine has none'),
    control: succeeds('/etc/passwd is read the same way', () => [{ do: 'read', path: '/etc/passwd' }]),
    attempt: () => [{ do: 'read', path: '/etc/shadow' }],
    judge(facts) {
      const [{ error, text } = { error: 'nothing', text: '' }] = facts.observed;
      if (error !== null) return hiddenInside(facts, ['/etc/shadow']);
      return text === '' ? held('an empty file is in its place') : isHostFile(text);
    },
  },
  {
    name: 'plant-git-hook',
    area: 'files',
    tried: "a git hook in the working directory, for the user's own git to run later",
    control: succeeds('another file below .git is written the same way', ({ workingDirectory }) => [
      { do: 'write', path: join(workingDirectory, '.git/description'), text: 'x' },
    ]),
    attempt: ({ workingDirectory }) => [
      { do: 'write', path: join(workingDirectory, '.git/hooks/pre-commit'), text: '#!/bin/sh\n' },
      { do: 'remove', path: join(workingDirectory, '.git/hooks/README') },
    ],
    judge: (facts) => stoppedByKernel(facts, ['EROFS', 'EACCES', 'EPERM'], 'hooks are read-only inside'),
  },
  {
    name: 'plant-git-settings',
    area: 'files',
    tried: "settings for the user's own git: its configuration, another common folder, attributes",
    control: succeeds('another file below .git is written the same way', ({ workingDirectory }) => [
      { do: 'write', path: join(workingDirectory, '.git/info/exclude'), text: 'x' },
    ]),
    attempt: ({ workingDirectory }) => [
      ...['config', 'config.worktree', 'commondir', 'info/attributes'].flatMap((name): Probe[] => {
        const path = join(workingDirectory, '.git', name);
        return [
          { do: 'write', path, text: '../elsewhere\n' },
          { do: 'remove', path },
        ];
      }),
    ],
    judge: (facts) => stoppedByKernel(facts, ['EROFS', 'EACCES', 'EPERM', 'EBUSY'], 'they are read-only inside'),
  },
  deviceAttack('device-memory', 'memory and log devices of the host', devices),
  deviceAttack('device-disk', 'the disks of the host', blockDevices),
  {
    name: 'system-write',
    area: 'files',
    tried: 'opening programs, accounts and the trust store for writing',
    control: succeeds('a file of the working directory is opened for writing', ({ workingDirectory }) => [
      { do: 'open', path: join(workingDirectory, harmlessFile), flags: 'r+' },
    ]),
    attempt: () =>
      ['/usr/lib/os-release', '/etc/passwd', '/etc/hosts', '/etc/ssl/certs/ca-certificates.crt']
        .filter((path) => existsSync(path))
        .map((path): Probe => ({ do: 'open', path, flags: 'r+' })),
    judge(facts) {
      // An image need not have all of them.
      const observed = facts.observed.filter(({ error }) => error !== 'ENOENT');
      if (observed.length === 0) return unproven('none of them is there');
      return stoppedByKernel({ ...facts, observed }, ['EROFS', 'EACCES', 'EPERM'], 'the system is read-only inside');
    },
  },
];

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function isHostFile(text: string): AttackFinding {
  const isSame = readFileSync('/etc/shadow', 'latin1') === text;
  return isSame ? hole("the host's own file was read") : held('another file is in its place');
}
