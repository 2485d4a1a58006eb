import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findPackageHosts, type PackageFamily } from '../../../../src/policy/load/package-hosts.ts';
import { type Pretend, policyOf, pretendMachine } from '../pretend-machine.ts';

async function hosts(family: PackageFamily, pretend: Pretend = {}): Promise<string[]> {
  const found = await findPackageHosts(new Set([family]), pretendMachine(pretend));
  return found.get(family)!.origins.map((origin) => `${origin.scheme}://${origin.host}:${origin.port}`);
}

const home = '/home/ann';

describe('npm', () => {
  test('takes registries from the environment, the user and the machine, and scopes besides', async () => {
    const found = await hosts('npm', {
      env: { npm_config_registry: 'https://env.registry.example/npm/' },
      files: {
        [`${home}/.npmrc`]:
          'registry = "http://user.registry.example:4873/"\n@corp:registry=https://scope.registry.example/\n; registry=https://comment.example\n',
        '/etc/npmrc': 'registry=https://etc.registry.example\n',
      },
    });
    expect(found).toEqual([
      'https://env.registry.example:443',
      'http://user.registry.example:4873',
      'https://scope.registry.example:443',
      'https://etc.registry.example:443',
    ]);
  });

  test('asks npm once when nobody named a registry, also when only a scope is named', async () => {
    const machine = pretendMachine({
      files: { [`${home}/.npmrc`]: '@corp:registry=https://scope.registry.example/\n' },
      npm: 'https://asked.registry.example/\n',
    });
    for (let i = 0; i < 2; i++) {
      const found = await findPackageHosts(new Set(['npm']), machine);
      expect(found.get('npm')!.origins.map((origin) => origin.host)).toEqual([
        'scope.registry.example',
        'asked.registry.example',
      ]);
    }
    expect(machine.asked).toEqual([['npm', 'config', 'get', 'registry']]);
  });

  test("takes npm's own default out of the npm beside this Node, and starts no npm for it", async () => {
    const npm = join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm');
    const definitions = join(npm, 'node_modules', '@npmcli', 'config', 'lib', 'definitions', 'definitions.js');
    const text =
      "  registry: new Definition('registry', {\n    default: 'https://default.registry.example/',\n    type: url,";
    const machine = pretendMachine({ files: { [definitions]: text }, npm: 'https://asked.registry.example/' });
    const found = await findPackageHosts(new Set(['npm']), machine);
    expect(found.get('npm')!.origins.map((origin) => origin.host)).toEqual(['default.registry.example']);
    expect(machine.asked).toEqual([]);
    const built = pretendMachine({
      files: { [definitions]: text, [join(npm, 'npmrc')]: 'registry=https://built-in.example/' },
      npm: 'https://asked.registry.example/',
    });
    const asked = await findPackageHosts(new Set(['npm']), built);
    expect(asked.get('npm')!.origins.map((origin) => origin.host)).toEqual(['asked.registry.example']);
  });

  test('adds no host and says what to do when npm cannot tell', async () => {
    const policy = await policyOf(
      'version: 1\nallow: [{preset: npm}, {host: a.example}]\n',
      pretendMachine({ npm: null }),
    );
    expect(policy.allow.map((rule) => rule.host.text)).toEqual(['a.example']);
    expect(policy.warnings.join()).toContain('npm config set registry');
  });

  test('a plain http registry gets plain http on its own port only; audit may be posted, nothing published', async () => {
    const policy = await policyOf(
      'version: 1\nallow: [{preset: npm}]\n',
      pretendMachine({ env: { NPM_CONFIG_REGISTRY: 'http://registry.example:4873/' } }),
    );
    expect(policy.allow).toMatchObject([
      { ports: [4873], plainHttp: true },
      { ports: [4873], plainHttp: true },
    ]);
    const [read, audit] = policy.rulesFor('registry.example');
    expect([...read!.methods!]).toEqual(['GET', 'HEAD']);
    expect([...audit!.methods!]).toEqual(['POST']);
    expect(audit!.paths!.some((path) => path.covers('/-/npm/v1/security/advisories/bulk'))).toBe(true);
    expect(audit!.paths!.some((path) => path.covers('/-/user/org.couchdb.user:x'))).toBe(false);
  });

  test('of a URL with a user name and password only the host is taken', async () => {
    const machine = pretendMachine({
      files: {
        [`${home}/.npmrc`]:
          'registry=https://ann:PLANTED@registry.example/PLANTED/?t=PLANTED\n//registry.example/:_authToken=PLANTED\n',
      },
    });
    const policy = await policyOf('version: 1\nallow: [{preset: npm}]\n', machine);
    expect(policy.allow[0]!.host.text).toBe('registry.example');
    expect(JSON.stringify(policy)).not.toContain('PLANTED');
  });

  test('a registry that is an address is skipped with a warning', async () => {
    const machine = pretendMachine({ env: { npm_config_registry: 'http://ann:PLANTED@127.0.0.1:4873/' } });
    const policy = await policyOf('version: 1\nallow: [{preset: npm}]\n', machine);
    expect(policy.allow).toEqual([]);
    expect(policy.warnings.join()).toContain('skipped 127.0.0.1');
    expect(policy.warnings.join()).not.toContain('PLANTED');
  });
});

describe('pip and uv', () => {
  test('without configuration: PyPI and its files', async () => {
    expect(await hosts('pip')).toEqual(['https://pypi.org:443', 'https://files.pythonhosted.org:443']);
  });

  test('a mirror replaces PyPI, extra indexes join it', async () => {
    const conf =
      '[global]\nindex-url = https://pypi.mirror.example/simple\nextra-index-url =\n    https://one.example/simple\n    https://two.example/simple?a=b\n';
    expect(await hosts('pip', { files: { [`${home}/.config/pip/pip.conf`]: conf } })).toEqual([
      'https://pypi.mirror.example:443',
      'https://one.example:443',
      'https://two.example:443',
    ]);
    expect(await hosts('pip', { env: { PIP_EXTRA_INDEX_URL: 'https://one.example/a https://two.example/b' } })).toEqual(
      [
        'https://one.example:443',
        'https://two.example:443',
        'https://pypi.org:443',
        'https://files.pythonhosted.org:443',
      ],
    );
  });

  test('uv is read from its variables and its file', async () => {
    expect(await hosts('pip', { env: { UV_DEFAULT_INDEX: 'corp=https://uv.example/simple' } })).toEqual([
      'https://uv.example:443',
    ]);
    const toml = '[[index]]\nname = "corp"\nurl = "https://toml.example/simple"\ndefault = true\n';
    expect(await hosts('pip', { files: { [`${home}/.config/uv/uv.toml`]: toml } })).toEqual([
      'https://toml.example:443',
    ]);
  });
});

describe('cargo', () => {
  const crates = ['https://index.crates.io:443', 'https://static.crates.io:443', 'https://crates.io:443'];

  test('without configuration: crates.io', async () => {
    expect(await hosts('cargo')).toEqual(crates);
  });

  test('source replacement takes its place, through a chain, and registries join', async () => {
    const toml = `[source.crates-io]
replace-with = "corp" # mirror
[source.corp]
replace-with = "far"
[source."far"]
registry = "sparse+https://crates.mirror.example/index/"
[registries.private]
index = "sparse+https://private.example/index/"
`;
    expect(await hosts('cargo', { files: { [`${home}/.cargo/config.toml`]: toml } })).toEqual([
      'https://private.example:443',
      'https://crates.mirror.example:443',
    ]);
    const inline =
      '[source]\ncrates-io = { replace-with = "corp" }\ncorp = { registry = "sparse+https://inline.example/" }\n';
    expect(await hosts('cargo', { files: { '/c/config.toml': inline }, env: { CARGO_HOME: '/c' } })).toEqual([
      'https://inline.example:443',
    ]);
  });

  test('a circle of replacements ends', async () => {
    const toml = '[source.crates-io]\nreplace-with = "a"\n[source.a]\nreplace-with = "crates-io"\n';
    expect(await hosts('cargo', { files: { [`${home}/.cargo/config.toml`]: toml } })).toEqual([]);
  });
});

describe('go', () => {
  test('without configuration: the public proxy, its bucket alone, the checksum database', async () => {
    const policy = await policyOf('version: 1\nallow: [{preset: golang}]\n');
    expect(policy.allow.map((rule) => rule.host.text)).toEqual([
      'proxy.golang.org',
      'sum.golang.org',
      'storage.googleapis.com',
    ]);
    expect(policy.rulesFor('storage.googleapis.com')[0]!.paths!.map((path) => path.text)).toEqual([
      '/proxy-golang-org-prod/**',
    ]);
  });

  test('a proxy of the environment or of the env file takes its place', async () => {
    expect(
      await hosts('go', { env: { GOPROXY: 'https://go.example|https://b.example,direct', GOSUMDB: 'off' } }),
    ).toEqual(['https://go.example:443', 'https://b.example:443']);
    const env = 'GOPROXY=http://go.example:8081/repository/go\nGOSUMDB=sum.golang.org https://sum.example\n';
    expect(await hosts('go', { files: { [`${home}/.config/go/env`]: env } })).toEqual([
      'http://go.example:8081',
      'https://sum.example:443',
    ]);
    expect(await hosts('go', { env: { GOPROXY: 'off', GOSUMDB: 'off' } })).toEqual([]);
  });
});

describe('gem and bundler', () => {
  test('without configuration: rubygems.org', async () => {
    expect(await hosts('gem')).toEqual(['https://rubygems.org:443', 'https://index.rubygems.org:443']);
  });

  test('sources of the gemrc and mirrors of bundler take its place', async () => {
    const gemrc =
      '---\n:backtrace: false\n:sources:\n- https://gems.example/\n- "http://second.example:8080/"\n:update_sources: true\n';
    expect(await hosts('gem', { files: { [`${home}/.gemrc`]: gemrc } })).toEqual([
      'https://gems.example:443',
      'http://second.example:8080',
    ]);
    const bundle = '---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "https://mirror.example/"\n';
    expect(await hosts('gem', { files: { [`${home}/.bundle/config`]: bundle } })).toEqual([
      'https://mirror.example:443',
    ]);
  });
});

describe('maven', () => {
  const central = ['https://repo.maven.apache.org:443', 'https://repo1.maven.org:443'];

  test('without configuration: the central repository', async () => {
    expect(await hosts('maven')).toEqual(central);
  });

  test('a mirror of everything takes its place; comments do not count; repositories join', async () => {
    const settings = (mirrorOf: string): string => `<settings><mirrors>
      <!-- <mirror><url>https://comment.example</url><mirrorOf>*</mirrorOf></mirror> -->
      <mirror><id>m</id><url>https://maven.example/repo</url><mirrorOf>${mirrorOf}</mirrorOf></mirror></mirrors>
      <profiles><profile><repositories><repository><url>https://repo.example/</url></repository></repositories></profile></profiles></settings>`;
    const files = (mirrorOf: string) => ({ files: { [`${home}/.m2/settings.xml`]: settings(mirrorOf) } });
    expect(await hosts('maven', files('*'))).toEqual(['https://maven.example:443', 'https://repo.example:443']);
    expect(await hosts('maven', files('corp-only'))).toEqual([
      'https://maven.example:443',
      'https://repo.example:443',
      ...central,
    ]);
    expect(await hosts('maven', files('*,!central'))).toEqual([
      'https://maven.example:443',
      'https://repo.example:443',
      ...central,
    ]);
  });
});

describe('composer', () => {
  test('without configuration: packagist', async () => {
    expect(await hosts('composer')).toEqual(['https://repo.packagist.org:443', 'https://packagist.org:443']);
  });

  test('repositories join it, and take its place when it is switched off', async () => {
    const list = JSON.stringify({
      repositories: [{ type: 'composer', url: 'https://php.example' }, { 'packagist.org': false }],
    });
    expect(await hosts('composer', { files: { [`${home}/.composer/config.json`]: list } })).toEqual([
      'https://php.example:443',
    ]);
    const map = JSON.stringify({ repositories: { corp: { type: 'composer', url: 'https://php.example' } } });
    expect(await hosts('composer', { files: { [`${home}/.config/composer/config.json`]: map } })).toHaveLength(3);
    expect(await hosts('composer', { files: { [`${home}/.composer/config.json`]: '{broken' } })).toHaveLength(2);
  });
});

describe('apt', () => {
  test('both forms of sources are read; disabled, commented and local ones are not', async () => {
    const found = await hosts('apt', {
      files: {
        '/etc/apt/sources.list':
          '# deb http://comment.example/x s m\ndeb [arch=amd64 signed-by=/k] http://one.example/apt stable main\ndeb cdrom:[x]/ stable main\n',
        '/etc/apt/sources.list.d/a.list': 'deb-src https://two.example/apt stable main\n',
        '/etc/apt/sources.list.d/b.sources':
          'Types: deb\nURIs: http://three.example/a\n https://four.example:8443/b\nSuites: stable\n\nEnabled: no\nTypes: deb\nURIs: http://off.example/\n',
        '/etc/apt/sources.list.d/c.sources.bak': 'Types: deb\nURIs: http://bak.example/\n',
      },
    });
    expect(found).toEqual([
      'http://one.example:80',
      'https://two.example:443',
      'http://three.example:80',
      'https://four.example:8443',
    ]);
  });

  test('an http mirror may be reached by plain http on port 80, and without any mirror there is a warning', async () => {
    const text = 'version: 1\nallow: [{preset: debian}]\n';
    const policy = await policyOf(
      text,
      pretendMachine({ files: { '/etc/apt/sources.list': 'deb http://one.example/apt s m\n' } }),
    );
    expect(policy.allow).toMatchObject([{ plainHttp: true, ports: [80] }]);
    const none = await policyOf(text);
    expect(none.allow).toEqual([]);
    expect(none.warnings.join()).toContain('add the host of your mirror');
  });
});
