import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostFiles } from '../../../../src/sandbox/files/host-files.ts';
import { surveyDangers } from '../../../../src/sandbox/files/survey-dangers.ts';
import { findTools } from '../../../../src/sandbox/files/tool-mounts.ts';
import { type MountGround, makeMountGround } from '../../../support/mount-ground.ts';

let ground: MountGround;
beforeAll(() => {
  ground = makeMountGround();
});
afterAll(() => ground.remove());

function find(path: string, programs: string[] = [], more: Record<string, string> = {}) {
  const environment = { PATH: path, ...more };
  const survey = surveyDangers(
    { home: ground.home, uid: 0, stateFolder: ground.state, environment, hide: [] },
    hostFiles,
  );
  const options = { environment, programs, workingDirectory: ground.project, letIn: [ground.project] };
  const { tools, ...rest } = findTools(options, survey, hostFiles);
  const short = (name: string) => name.replace(ground.home, '~');
  return {
    tools: tools.map(({ target }) => short(target)),
    masks: tools.flatMap(({ masks }) => masks.map(({ real }) => short(real))),
    path: rest.path.map(short),
    notices: rest.notices.map(short),
  };
}

describe('programs outside the system', () => {
  test('the system and the working directory need nothing more', () => {
    ground.file('home/dev/project/node_modules/.bin/tool', '', 0o755);
    const bin = `${ground.project}/node_modules/.bin`;
    expect(find(`/usr/bin:/bin:${bin}`)).toEqual({
      tools: [],
      masks: [],
      path: ['/usr/bin', '/bin', '~/project/node_modules/.bin'],
      notices: [],
    });
  });

  test('an installation is shown as a whole, and nothing around it', () => {
    ground.file('home/dev/.nvm/versions/node/v24/bin/node', '', 0o755);
    ground.folder('home/dev/.nvm/versions/node/v24/lib/node_modules');
    ground.folder('home/dev/.pyenv/versions');
    ground.folder('home/dev/.pyenv/shims');
    const found = find(`${ground.home}/.nvm/versions/node/v24/bin:${ground.home}/.pyenv/shims`);
    expect(found.tools).toEqual(['~/.nvm/versions/node/v24', '~/.pyenv']);
  });

  test('where only programs lie, only they are shown: caches beside them stay writable', () => {
    ground.file('home/dev/.cargo/bin/cargo', '', 0o755);
    ground.file('home/dev/.cargo/credentials.toml');
    ground.folder('home/dev/.rustup/toolchains');
    ground.folder('home/dev/go/bin');
    ground.folder('home/dev/go/pkg');
    expect(find(`${ground.home}/.cargo/bin:${ground.home}/go/bin`).tools).toEqual([
      '~/.cargo/bin',
      '~/.rustup',
      '~/go/bin',
    ]);
  });

  test('~/.local and the home are never shown as a whole, whatever lies beside bin', () => {
    ground.folder('home/dev/.local/lib');
    ground.file('home/dev/.local/bin/script', '#!/bin/sh', 0o755);
    ground.folder('home/dev/lib');
    ground.folder('home/dev/bin');
    expect(find(`${ground.home}/.local/bin:${ground.home}/bin`).tools).toEqual(['~/.local/bin', '~/bin']);
    const whole = find(ground.home);
    expect(whole).toMatchObject({ tools: [], path: [], notices: [expect.stringContaining('is on your PATH')] });
  });

  test('a project with a bin and a lib is not taken for an installation', () => {
    for (const name of ['bin', 'lib', '.git']) ground.folder(`home/dev/other/${name}`);
    expect(find(`${ground.home}/other/bin`).tools).toEqual(['~/other/bin']);
  });

  test('links in a folder of programs bring what they lead to, each with the package it lies in', () => {
    ground.file('home/dev/.local/share/claude/versions/2.1.0', '', 0o755);
    ground.link('home/dev/tools/bin/claude', `${ground.home}/.local/share/claude/versions/2.1.0`);
    ground.file('home/dev/pkgs/node_modules/agent/cli.js', '', 0o755);
    ground.link('home/dev/tools/bin/agent', '../../pkgs/node_modules/agent/cli.js');
    ground.file('home/dev/Downloads/thing', '', 0o755);
    ground.link('home/dev/tools/bin/thing', `${ground.home}/Downloads/thing`);
    ground.file('home/dev/.ssh/id_rsa');
    ground.link('home/dev/tools/bin/key', `${ground.home}/.ssh/id_rsa`);
    expect(find(`${ground.home}/tools/bin`).tools.sort()).toEqual([
      '~/.local/share/claude/versions',
      '~/Downloads/thing',
      '~/pkgs/node_modules',
      '~/tools/bin',
    ]);
  });

  test('a virtual environment brings the interpreter it borrows', () => {
    ground.file('home/dev/.local/share/uv/python/cpython-3.12/bin/python3.12', '', 0o755);
    ground.folder('home/dev/.local/share/uv/python/cpython-3.12/lib');
    ground.file('home/dev/.local/share/uv/tools/ruff/pyvenv.cfg');
    ground.link('home/dev/.local/share/uv/tools/ruff/bin/python', '../../../python/cpython-3.12/bin/python3.12');
    ground.file('home/dev/.local/share/uv/tools/ruff/bin/ruff', '', 0o755);
    ground.link('home/dev/uvbin/ruff', `${ground.home}/.local/share/uv/tools/ruff/bin/ruff`);
    expect(find(`${ground.home}/uvbin`).tools).toEqual([
      '~/uvbin',
      '~/.local/share/uv/tools/ruff',
      '~/.local/share/uv/python/cpython-3.12',
    ]);
  });

  test('the command itself is found by name or by path, with its interpreter, and seen where it is called', () => {
    ground.file('home/dev/.apps/run/interpreter', '', 0o755);
    ground.file('home/dev/.apps/it/start', `#!${ground.home}/.apps/run/interpreter\n`, 0o755);
    ground.link('home/dev/called', `${ground.home}/.apps/it/start`);
    expect(find('', [`${ground.home}/called`]).tools).toEqual(['~/.apps/it', '~/called', '~/.apps/run']);
  });

  test('a login inside an installation is masked', () => {
    ground.file('home/dev/.foundry/bin/forge', '', 0o755);
    ground.folder('home/dev/.foundry/lib');
    ground.folder('home/dev/.foundry/keystores');
    const found = find(`${ground.home}/.foundry/bin`);
    expect(found).toMatchObject({ tools: ['~/.foundry'], masks: ['~/.foundry/keystores'] });
  });

  test('what is relative, missing, a Windows drive or a login is left out of PATH', () => {
    ground.folder('home/dev/.gnupg/bin');
    const found = find(`.:bin::/nowhere:${ground.home}/.gnupg/bin:/usr/bin`);
    expect(found.path).toEqual(['/usr/bin']);
    expect(found.notices).toEqual([expect.stringContaining('gpg keys')]);
  });
});
