// Logins for registries as tools write them.
import { describe, expect, test } from 'vitest';
import { readRegistryLogins } from '../../../../src/kit/registries/registry-files.ts';
import type { RegistryFamily } from '../../../../src/kit/registries/registry-login.ts';

const read = (family: RegistryFamily, files: Record<string, string>, env: Record<string, string> = {}) =>
  readRegistryLogins(family, new Map(Object.entries(files)), env).map(
    ({ host, path, form, username, secret, helper }) =>
      [host, path, form, username, secret, ...(helper === null ? [] : [helper])].join(' '),
  );
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('what is a login', () => {
  test('for npm', () => {
    const text = `registry=https://npm.corp.example/
//npm.corp.example/:_authToken=tok==en
//forge.example:8443/api/v4/packages/npm/:_authToken=\${MY_TOKEN}
//old.example/:_auth="${base64('ann:se:cret')}"
//older.example/x/:username=ann
//older.example/x/:_password=${base64('secret')}
//older.example/x/:always-auth=true
//none.example/:_authToken=\${UNSET}
; //commented.example/:_authToken=no
_authToken=nobody-knows-for-what
`;
    expect(read('npm', { '.npmrc': text }, { MY_TOKEN: 'from-env' })).toEqual([
      'npm.corp.example / bearer  tok==en',
      'forge.example /api/v4/packages/npm/ bearer  from-env',
      'old.example / basic ann se:cret',
      'older.example /x/ basic ann secret',
    ]);
  });

  test('for pip, in its own file and in ~/.netrc', () => {
    const conf = `[global]
index-url = https://ann:p%40ss@pypi.corp.example/api/pypi/simple/
extra-index-url =
    https://bob:word@more.example/simple
    https://public.example/simple
    http://ann:plain@plain.example/simple
`;
    const netrc = `# machine no.example login a password b
machine net.example login ann password "quoted"
machine two.example
  login bob
  password word
macdef init
  machine macro.example login a password b

default login anonymous password me
`;
    expect(read('pip', { '.config/pip/pip.conf': conf, '.netrc': netrc })).toEqual([
      'pypi.corp.example /api/pypi/ basic ann p@ss',
      'more.example / basic bob word',
      'net.example / basic ann quoted',
      'two.example / basic bob word',
    ]);
  });

  test('for cargo: the address is in the other file', () => {
    const files = {
      '.cargo/config.toml': '[registries.corp]\nindex = "sparse+https://crates.corp.example/index/"\n',
      '.cargo/credentials.toml':
        '[registry]\ntoken = "of-crates-io"\n[registries.corp]\ntoken = "cargo-token"\n[registries.other]\ntoken = "x"\n',
    };
    expect(read('cargo', files)).toEqual(['crates.corp.example / token  cargo-token']);
  });

  test('for maven: servers of repositories and mirrors', () => {
    const server = (id: string, password: string): string =>
      `<server><id>${id}</id><username>ann</username><password>${password}</password></server>`;
    const text = `<settings><!-- <server><id>m</id></server> -->
<servers>${server('m', 'a&amp;b')}${server('r', '{encrypted=}')}${server('unused', 'x')}</servers>
<mirrors><mirror><id>m</id><url>https://maven.corp.example/repo</url><mirrorOf>*</mirrorOf></mirror></mirrors>
<repositories><repository><id>r</id><url>https://r.example/</url></repository></repositories></settings>`;
    expect(read('maven', { '.m2/settings.xml': text })).toEqual(['maven.corp.example /repo/ basic ann a&b']);
  });

  test('for images: pairs, and programs', () => {
    const config = {
      auths: {
        'registry.corp.example': { auth: base64('ann:word') },
        'https://index.docker.io/v1/': { auth: base64('hub:hub-word') },
        'kept.example:5000': {},
        'none.example': { auth: 'bm90aGluZw==' },
      },
      credHelpers: { 'cloud.example': 'gcloud', 'bad.example': '../../bin/sh' },
      credsStore: 'secretservice',
    };
    expect(read('docker', { '.docker/config.json': JSON.stringify(config) })).toEqual([
      `registry.corp.example /v2/ pair  ${base64('ann:word')}`,
      `registry-1.docker.io /v2/ pair  ${base64('hub:hub-word')}`,
      'kept.example /v2/ pair   secretservice',
      'cloud.example /v2/ pair   gcloud',
    ]);
    expect(read('docker', { '.docker/config.json': '{' })).toEqual([]);
  });

  test('and nothing that could end a header line', () => {
    expect(read('npm', { '.npmrc': `//a.example/:_authToken=\${T}\n` }, { T: 'x\r\nX-Evil: 1' })).toEqual([]);
  });
});
