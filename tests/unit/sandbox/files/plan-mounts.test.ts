import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MountOptions, PlannedMounts } from '../../../../src/sandbox/files/plan-mounts.ts';
import { parseMount } from '../../../../src/sandbox/files/user-mounts.ts';
import { type MountGround, makeMountGround } from '../../../support/mount-ground.ts';

let ground: MountGround;
beforeEach(() => {
  ground = makeMountGround();
});
afterEach(() => ground.remove());

const asked = (text: string, mode: 'read-only' | 'read-write' = 'read-write'): Partial<MountOptions> => ({
  asked: [parseMount(text, mode, { cwd: ground.project, home: ground.home })],
});
const at = ({ mounts }: PlannedMounts, target: string) => mounts.filter((mount) => mount.target === target);

describe('the mounts of a sandbox on the system of the host', () => {
  test('have the working directory, a home and a /tmp of their own where the user has them', () => {
    const plan = ground.plan();
    const own = `${ground.state}/sandboxes/one`;
    expect(at(plan, ground.project)).toEqual([{ kind: 'read-write', source: ground.project, target: ground.project }]);
    expect(at(plan, ground.home)).toEqual([{ kind: 'read-write', source: `${own}/home`, target: ground.home }]);
    expect(at(plan, '/tmp')).toEqual([{ kind: 'read-write', source: `${own}/tmp`, target: '/tmp' }]);
    expect(plan).toMatchObject({ home: ground.home, workingDirectory: ground.project });
    expect(readFileSync(`${own}/files/etc/passwd`, 'utf8')).toContain(`::${ground.home}:`);
  });

  test('come from the outside in, and only once for a target', () => {
    const { mounts } = ground.plan(asked(`${ground.folder('data')}:${ground.project}/data`));
    const depths = mounts.map(({ target }) => target.split('/').length);
    expect(depths).toEqual([...depths].sort((a, b) => a - b));
    expect(new Set(mounts.map(({ target }) => target)).size).toBe(mounts.length);
  });

  test('name nothing of the home but what was let in', () => {
    ground.file('home/dev/.ssh/id_rsa');
    ground.file('home/dev/letters/private.txt');
    const sources = ground.plan().mounts.flatMap((mount) => ('source' in mount ? [mount.source] : []));
    const own = [ground.project, `${ground.state}/sandboxes/one/`];
    expect(
      sources.filter((source) => source.startsWith(ground.top) && !own.some((path) => source.startsWith(path))),
    ).toEqual([]);
  });

  test('serve a folder under the name it is called by and under its real one', () => {
    const spelled = ground.link('short', ground.project);
    ground.file(`${ground.project}/.netrc`);
    const plan = ground.plan({ workingDirectory: spelled });
    expect(plan.workingDirectory).toBe(spelled);
    for (const target of [spelled, ground.project]) {
      expect(at(plan, target)).toEqual([{ kind: 'read-write', source: ground.project, target }]);
      expect(at(plan, `${target}/.netrc`)).toEqual([{ kind: 'masked-file', target: `${target}/.netrc` }]);
    }
  });

  test('mask what is found in the project, say so, and mask .env files when asked to', () => {
    ground.file(`${ground.project}/sub/.netrc`);
    ground.file(`${ground.project}/.env`);
    const plan = ground.plan();
    expect(at(plan, `${ground.project}/sub/.netrc`)).toHaveLength(1);
    expect(at(plan, `${ground.project}/.env`)).toEqual([]);
    expect(plan.notices.join()).toContain('./sub/.netrc (logins of curl and git)');
    expect(at(ground.plan({ hideEnvFiles: true }), `${ground.project}/.env`)).toHaveLength(1);
  });

  test('mask the files that credentials come from, wherever they are', () => {
    const file = ground.file(`${ground.project}/secrets/key`);
    expect(at(ground.plan({ hide: [file] }), file)).toEqual([{ kind: 'masked-file', target: file }]);
  });

  test('keep the configuration as it is, with every folder on the way to it', () => {
    const file = ground.file(`${ground.project}/conf/sallyport.yaml`);
    const plan = ground.plan({ keep: [file, '/nowhere.yaml'] });
    expect(at(plan, file)).toEqual([{ kind: 'read-only', source: file, target: file }]);
    expect(at(plan, `${ground.project}/conf`)).toMatchObject([{ kind: 'read-write' }]);
  });

  test('take what the user asks for, read-only or not, with what is dangerous in it masked', () => {
    ground.file('home/dev/.config/gh/hosts.yml');
    const plan = ground.plan(asked('~/.config:/mnt/config', 'read-only'));
    expect(at(plan, '/mnt/config')).toEqual([
      { kind: 'read-only', source: `${ground.home}/.config`, target: '/mnt/config' },
    ]);
    expect(at(plan, '/mnt/config/gh')).toEqual([{ kind: 'masked-folder', target: '/mnt/config/gh' }]);
    const file = ground.file('home/dev/notes.txt');
    expect(at(ground.plan(asked('~/notes.txt')), file)).toEqual([{ kind: 'read-write', source: file, target: file }]);
  });

  test('have what was made for the sandbox on top, with nothing of the host inside it', () => {
    const source = ground.folder('trust');
    const plan = ground.plan({ files: [{ source, target: '/etc/ssl' }] });
    expect(plan.mounts.filter(({ target }) => target.startsWith('/etc/ssl'))).toEqual([
      { kind: 'read-only', source, target: '/etc/ssl' },
    ]);
  });

  test('root has another uid and another name inside, and both are known there', () => {
    const plan = ground.plan({ user: { uid: 0, gid: 0, name: 'root' } });
    expect(plan.userName).toBe('agent');
    const passwd = readFileSync(`${ground.state}/sandboxes/one/files/etc/passwd`, 'utf8');
    expect(passwd).toContain(`agent:x:1000:1000::${ground.home}:`);
    expect(ground.plan({ flavour: 'image', user: { uid: 0, gid: 0, name: 'root' } }).userName).toBe('root');
  });

  test('a home that is part of the system is not used', () => {
    expect(ground.plan({ home: '/' }).home).toBe('/home/dev');
    expect(ground.plan({ home: '/usr/sbin' }).home).toBe('/home/dev');
  });
});

describe('the mounts of a sandbox in an image', () => {
  test('leave the system to the image', () => {
    const plan = ground.plan({ flavour: 'image' });
    expect(plan.path).toBeNull();
    expect(plan.mounts.map(({ target }) => target)).toEqual([
      '/tmp',
      '/etc/resolv.conf',
      '/etc/hosts',
      '/etc/nsswitch.conf',
      '/etc/passwd',
      '/etc/group',
      ground.home,
      ground.project,
    ]);
  });
});

describe('the mounts of a sandbox that sees the whole host', () => {
  test('mask what is dangerous on it, and leave what the sandbox needs of the state', () => {
    ground.file('home/dev/.ssh/id_rsa');
    ground.file('home/dev/.claude.json');
    ground.file(`${ground.state}/ca/key.pem`);
    ground.folder(`${ground.state}/sandboxes/two`);
    ground.file(`${ground.project}/.netrc`);
    const plan = ground.plan({ flavour: 'whole' });
    const own = plan.mounts.filter(({ target }) => target.startsWith(ground.top));
    expect(own).toEqual(
      expect.arrayContaining([
        { kind: 'masked-folder', target: `${ground.home}/.ssh` },
        { kind: 'masked-file', target: `${ground.home}/.claude.json` },
        { kind: 'masked-folder', target: `${ground.state}/ca` },
        { kind: 'masked-folder', target: `${ground.state}/sandboxes/two` },
        { kind: 'masked-file', target: `${ground.project}/.netrc` },
        // A mount of its own, so that it cannot be renamed.
        { kind: 'read-write', source: ground.project, target: ground.project },
      ]),
    );
    expect(own).toHaveLength(6);
    const kept = ground.file(`${ground.project}/sallyport.yaml`);
    expect(at(ground.plan({ flavour: 'whole', keep: [kept] }), kept)).toMatchObject([{ kind: 'read-only' }]);
    expect(plan.mounts.some(({ kind }) => kind === 'link' || kind === 'empty')).toBe(false);
    expect(plan.home).toBe(`${ground.state}/sandboxes/one/home`);
  });
});

describe('where a sandbox cannot work', () => {
  test.each(['/', '/etc', '/usr/lib', '/opt', '/var', '/proc', '/nowhere', '/home', '/tmp', '/boot', 'relative'])(
    'in %s',
    (workingDirectory) => {
      expect(() => ground.plan({ workingDirectory })).toThrow(/a sandbox cannot work in/);
    },
  );

  test('in the home, around it, in its logins, in a file, in the state', () => {
    const file = ground.file('file');
    ground.folder('home/dev/.aws/project');
    for (const workingDirectory of [ground.home, ground.top, `${ground.home}/.aws/project`, file, ground.state])
      expect(() => ground.plan({ workingDirectory })).toThrow(/a sandbox cannot work in/);
  });
});

describe('what is asked for and refused', () => {
  test.each(['~', '~/.ssh', '/etc/shadow:/mnt/x', '/nowhere', '/data:/usr/bin'])('%s', (text) => {
    ground.file('home/dev/.ssh/id_rsa');
    expect(() => ground.plan(asked(text))).toThrow(/--mount/);
  });

  test('two things at one place', () => {
    const one = asked(`${ground.folder('one')}:/mnt/x`).asked!;
    const two = asked(`${ground.folder('two')}:/mnt/x`).asked!;
    expect(() => ground.plan({ asked: [...one, ...two] })).toThrow(/already/);
  });
});
