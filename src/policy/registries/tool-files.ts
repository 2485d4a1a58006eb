// The configuration of package managers as a sandbox gets it: the addresses of the user's registries, and placeholders for their
// logins. Written anew out of the few things that are understood, so that nothing else of the user's files gets in.

import { configLines } from '../../kit/registries/config-lines.ts';
import { cargoIndexes, expandNpm, type FiledLogin, mavenPlaces, pipUrls } from '../../kit/registries/registry-files.ts';
import {
  type RegistryFamily,
  type RegistryTexts,
  type RegistryVariables,
  readRegistryUrl,
} from '../../kit/registries/registry-login.ts';
import { placeholderFor } from '../../kit/text/placeholder.ts';

export interface ToolFile {
  /** Below the home, without a slash at the front. */
  readonly path: string;
  readonly text: string;
  /** It is for a sandbox that may use one of these. */
  readonly credentials: readonly string[];
}

export interface NamedLogin {
  readonly name: string;
  readonly login: FiledLogin;
}

export function toolFilesOf(
  family: RegistryFamily,
  texts: RegistryTexts,
  logins: readonly NamedLogin[],
  env: RegistryVariables,
): ToolFile[] {
  const credentials = logins.map(({ name }) => name);
  const file = (path: string, lines: readonly string[]): ToolFile[] =>
    lines.length === 0 ? [] : [{ path, text: `${lines.join('\n')}\n`, credentials }];
  switch (family) {
    case 'npm':
      return file('.npmrc', npmrc(texts.get('.npmrc') ?? '', logins, env));
    case 'pip':
      return file('.config/pip/pip.conf', pipConf(texts, logins));
    case 'cargo':
      return [
        ...file('.cargo/config.toml', cargoConfig(texts)),
        ...file('.cargo/credentials.toml', cargoCredentials(texts, logins)),
      ];
    case 'maven':
      return file('.m2/settings.xml', mavenSettings(texts.get('.m2/settings.xml') ?? '', logins));
    case 'docker':
      return file('.docker/config.json', [dockerConfig(logins)]);
  }
}

function npmrc(text: string, logins: readonly NamedLogin[], env: RegistryVariables): string[] {
  const addresses = configLines(text).flatMap(({ key, value }) => {
    if (key !== 'registry' && !/^@[A-Za-z0-9._~-]+:registry$/.test(key)) return [];
    const read = readRegistryUrl(expandNpm(value, env));
    return read === null ? [] : [`${key}=${withoutLogin(read.url)}`];
  });
  // npm compares the beginning of an address, port included.
  const hosts = new Map(configLines(text).flatMap(({ key }) => authority(key)));
  const tokens = logins.map(
    ({ name, login }) => `//${hosts.get(login.host) ?? login.host}${login.path}:_authToken=${placeholderFor(name)}`,
  );
  return [...addresses, ...tokens];
}

function authority(key: string): [host: string, written: string][] {
  const written = /^\/\/([^/:]+(?::\d+)?)\//.exec(key)?.[1]?.toLowerCase();
  return written === undefined ? [] : [[written.replace(/:\d+$/, ''), written]];
}

function pipConf(texts: RegistryTexts, logins: readonly NamedLogin[]): string[] {
  const lines = new Map<string, string[]>();
  for (const [file, text] of texts) {
    if (!file.endsWith('pip.conf')) continue;
    for (const { key, url } of pipUrls(text)) {
      const read = readRegistryUrl(url);
      if (read === null) continue;
      const own = logins.find(({ login }) => login.host === read.host);
      const address = new URL(withoutLogin(read.url));
      if (own !== undefined && read.password !== '') {
        address.username = own.login.username ?? '';
        address.password = placeholderFor(own.name);
      }
      lines.set(key, [...(lines.get(key) ?? []), address.href]);
    }
  }
  if (lines.size === 0) return [];
  return ['[global]', ...[...lines].map(([key, urls]) => `${key} =\n    ${urls.join('\n    ')}`)];
}

function cargoConfig(texts: RegistryTexts): string[] {
  return [...cargoIndexes(texts)].flatMap(([name, index]) => {
    const read = readRegistryUrl(index);
    if (read === null || !isPlain(name)) return [];
    const prefix = /^(?:[a-z]+\+)+(?=https)/i.exec(index)?.[0] ?? '';
    return [`[registries.${name}]`, `index = "${prefix}${withoutLogin(read.url)}"`];
  });
}

function cargoCredentials(texts: RegistryTexts, logins: readonly NamedLogin[]): string[] {
  return [...cargoIndexes(texts)].flatMap(([name, index]) => {
    const own = logins.find(({ login }) => login.host === readRegistryUrl(index)?.host);
    if (own === undefined || !isPlain(name)) return [];
    return [`[registries.${name}]`, `token = "${placeholderFor(own.name)}"`];
  });
}

function isPlain(name: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(name);
}

function mavenSettings(text: string, logins: readonly NamedLogin[]): string[] {
  const places = mavenPlaces(text).flatMap((place) => {
    const read = readRegistryUrl(place.url);
    return read === null || place.id === '' ? [] : [{ ...place, url: withoutLogin(read.url), read }];
  });
  const element = (kind: string, parts: Readonly<Record<string, string>>): string =>
    `<${kind}>${Object.entries(parts)
      .map(([key, value]) => `<${key}>${escaped(value)}</${key}>`)
      .join('')}</${kind}>`;
  const list = (kind: string, all: string): string[] => {
    const own = places.filter((place) => place.kind === kind);
    if (own.length === 0) return [];
    return [
      `<${all}>`,
      ...own.map(({ id, url, mirrorOf }) => element(kind, { id, url, ...(kind === 'mirror' && { mirrorOf }) })),
      `</${all}>`,
    ];
  };
  const servers = new Map(
    places.flatMap(({ id, read }) => {
      const own = logins.find(({ login }) => login.host === read.host && login.path === read.path);
      return own === undefined
        ? []
        : [[id, { id, username: own.login.username ?? '', password: placeholderFor(own.name) }] as const];
    }),
  );
  const repositories = [...list('repository', 'repositories'), ...list('pluginRepository', 'pluginRepositories')];
  return [
    '<settings>',
    '<servers>',
    ...[...servers.values()].map((server) => element('server', server)),
    '</servers>',
    ...list('mirror', 'mirrors'),
    ...(repositories.length === 0
      ? []
      : [
          '<profiles><profile><id>registries</id>',
          ...repositories,
          '</profile></profiles>',
          '<activeProfiles><activeProfile>registries</activeProfile></activeProfiles>',
        ]),
    '</settings>',
  ];
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function dockerConfig(logins: readonly NamedLogin[]): string {
  const auths = logins.map(({ name, login }) => [
    login.host === 'registry-1.docker.io' ? 'https://index.docker.io/v1/' : login.host,
    { auth: Buffer.from(`sallyport:${placeholderFor(name)}`).toString('base64') },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(auths) }, null, 2);
}

/** The query may hold a token too. */
function withoutLogin(url: URL): string {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  bare.search = '';
  bare.hash = '';
  return bare.href;
}
