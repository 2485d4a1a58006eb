// Where the tools keep their logins for registries, and how each is read out of them. Only files in the home of the user: what a
// project says of itself, an agent may have written.
import { configLines } from './config-lines.ts';
import {
  asFolder,
  isSendable,
  type RegistryFamily,
  type RegistryLogin,
  type RegistryTexts,
  type RegistryVariables,
  readPair,
  readRegistryUrl,
} from './registry-login.ts';

/** Below the home, by family. */
export const registryFiles: Readonly<Record<RegistryFamily, readonly string[]>> = {
  npm: ['.npmrc'],
  pip: ['.config/pip/pip.conf', '.pip/pip.conf', '.netrc'],
  cargo: ['.cargo/credentials.toml', '.cargo/credentials', '.cargo/config.toml', '.cargo/config'],
  maven: ['.m2/settings.xml'],
  docker: ['.docker/config.json'],
};

/** A login, and the file of the family that has it. */
export interface FiledLogin extends RegistryLogin {
  readonly file: string;
}

type Reader = (texts: RegistryTexts, env: RegistryVariables) => FiledLogin[];

const readers: Readonly<Record<RegistryFamily, Reader>> = {
  npm: readNpm,
  pip: readPip,
  cargo: readCargo,
  maven: readMaven,
  docker: readDocker,
};

/** Those of one family, the first for each place. */
export function readRegistryLogins(family: RegistryFamily, texts: RegistryTexts, env: RegistryVariables): FiledLogin[] {
  const seen = new Set<string>();
  return readers[family](texts, env).filter((login) => {
    const place = `${login.host}${login.path}`;
    if (!isSendable(login) || seen.has(place)) return false;
    seen.add(place);
    return true;
  });
}

const usual = { username: null, helper: null } as const;

/** `//host/path/:_authToken=…`, `:_auth=…` (base64), or `:username=…` with `:_password=…` (base64). */
function readNpm(texts: RegistryTexts, env: RegistryVariables): FiledLogin[] {
  const file = '.npmrc';
  const places = new Map<string, Record<string, string>>();
  for (const { key, value } of configLines(texts.get(file) ?? '')) {
    const match = /^\/\/([^/:]+)(?::\d+)?(\/.*?):(_authToken|_auth|username|_password)$/.exec(key);
    if (match === null) continue;
    const place = `${match[1]!.toLowerCase()} ${asFolder(match[2]!)}`;
    places.set(place, { ...places.get(place), [match[3]!]: expandNpm(value, env) });
  }
  return [...places].flatMap(
    ([place, { _authToken: token, _auth: auth, username, _password: password }]): FiledLogin[] => {
      const [host, path] = place.split(' ') as [string, string];
      if (token) return [{ ...usual, file, host, path, form: 'bearer' as const, secret: token }];
      const pair = auth
        ? readPair(auth)
        : username && password
          ? { username, password: Buffer.from(password, 'base64').toString('utf8') }
          : null;
      if (pair === null) return [];
      return [{ ...usual, file, host, path, form: 'basic' as const, username: pair.username, secret: pair.password }];
    },
  );
}

/** `${NAME}` as npm reads it; one that is not set is nothing. */
export function expandNpm(value: string, env: RegistryVariables): string {
  return value.replace(/\$\{([^}?]+)\??\}/g, (_, name: string) => env[name] ?? '');
}

/** Addresses with a login in them, and what ~/.netrc has for their hosts, and for all others. */
function readPip(texts: RegistryTexts): FiledLogin[] {
  const logins = registryFiles.pip
    .filter((file) => file.endsWith('pip.conf'))
    .flatMap((file) =>
      pipUrls(texts.get(file) ?? '').flatMap(({ url }) => {
        const read = readRegistryUrl(url);
        if (read === null || read.password === '') return [];
        const { host, username, password } = read;
        return [
          { ...usual, file, host, path: pathOfIndex(read.path), form: 'basic' as const, username, secret: password },
        ];
      }),
    );
  return [...logins, ...readNetrc(texts.get('.netrc') ?? '')];
}

const urlKeys = new Set(['index-url', 'extra-index-url', 'find-links', 'index_url', 'extra_index_url', 'find_links']);

export function pipUrls(text: string): { readonly key: string; readonly url: string }[] {
  return configLines(text)
    .filter(({ key }) => urlKeys.has(key))
    .flatMap(({ key, value }) =>
      value
        .split(/[\s,]+/)
        .filter((word) => /^https?:/i.test(word))
        .map((url) => ({ key: key.replaceAll('_', '-'), url })),
    );
}

/** The files of an index lie beside it. */
function pathOfIndex(path: string): string {
  return path.replace(/(?:\+?simple|index)\/$/, '');
}

/** Entries on one line or on several; `default` and macros are passed over. */
function readNetrc(text: string): FiledLogin[] {
  const words = text
    .replace(/^\s*#.*$/gm, '')
    .replace(/^macdef[\s\S]*?(?:\n[ \t]*\n|(?![\s\S]))/gm, '')
    .split(/\s+/);
  const logins: FiledLogin[] = [];
  for (let at = 0; at < words.length; at++) {
    if (words[at] !== 'machine') continue;
    const entry: Record<string, string> = {};
    const host = words[at + 1]?.toLowerCase() ?? '';
    for (at += 2; ['login', 'password', 'account'].includes(words[at] ?? ''); at += 2) {
      entry[words[at]!] = (words[at + 1] ?? '').replace(/^"(.*)"$/, '$1');
    }
    at--;
    const { login, password } = entry;
    if (login === undefined || !password) continue;
    logins.push({ ...usual, file: '.netrc', host, path: '/', form: 'basic', username: login, secret: password });
  }
  return logins;
}

/** Tokens by the name of a registry, whose address is in the other file. */
function readCargo(texts: RegistryTexts): FiledLogin[] {
  const indexes = cargoIndexes(texts);
  return ['.cargo/credentials.toml', '.cargo/credentials'].flatMap((file) =>
    configLines(texts.get(file) ?? '').flatMap(({ section, key, value }) => {
      const name = /^registries\.["']?([^"']+)["']?$/.exec(section)?.[1];
      const index = name === undefined || key !== 'token' ? undefined : indexes.get(name);
      const read = index === undefined ? null : readRegistryUrl(index);
      if (read === null || value === '') return [];
      return [{ ...usual, file, host: read.host, path: '/', form: 'token' as const, secret: value }];
    }),
  );
}

export function cargoIndexes(texts: RegistryTexts): Map<string, string> {
  const indexes = new Map<string, string>();
  for (const file of ['.cargo/config', '.cargo/config.toml']) {
    for (const { section, key, value } of configLines(texts.get(file) ?? '')) {
      const name = /^registries\.["']?([^"']+)["']?$/.exec(section)?.[1];
      if (name !== undefined && key === 'index') indexes.set(name, value);
    }
  }
  return indexes;
}

/** Servers by the id of a repository or mirror, which has the address. */
function readMaven(texts: RegistryTexts): FiledLogin[] {
  const file = '.m2/settings.xml';
  const text = withoutComments(texts.get(file) ?? '');
  const servers = new Map(
    elements(text, 'server').map((server) => [
      textOf(server, 'id'),
      { username: textOf(server, 'username'), password: textOf(server, 'password') },
    ]),
  );
  return mavenPlaces(text).flatMap(({ id, url }) => {
    const server = servers.get(id);
    const read = readRegistryUrl(url);
    // One in braces is encrypted, with a master password that is not at hand.
    if (
      read === null ||
      !server ||
      server.username === '' ||
      server.password === '' ||
      /^\{.*\}$/.test(server.password)
    ) {
      return [];
    }
    const { host, path } = read;
    const { username, password } = server;
    return [{ ...usual, file, host, path, form: 'basic' as const, username, secret: password }];
  });
}

export interface MavenPlace {
  readonly kind: 'mirror' | 'repository' | 'pluginRepository';
  readonly id: string;
  readonly url: string;
  readonly mirrorOf: string;
}

export function mavenPlaces(text: string): MavenPlace[] {
  return (['mirror', 'repository', 'pluginRepository'] as const).flatMap((kind) =>
    elements(withoutComments(text), kind).map((element) => ({
      kind,
      id: textOf(element, 'id'),
      url: textOf(element, 'url'),
      mirrorOf: textOf(element, 'mirrorOf'),
    })),
  );
}

function withoutComments(text: string): string {
  return text.replace(/<!--[\s\S]*?-->/g, '');
}

function elements(text: string, name: string): string[] {
  const found: string[] = [];
  for (let from = text.indexOf(`<${name}>`); from >= 0; from = text.indexOf(`<${name}>`, from + 1)) {
    const end = text.indexOf(`</${name}>`, from);
    if (end < 0) break;
    found.push(text.slice(from + name.length + 2, end));
  }
  return found;
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

function textOf(element: string, name: string): string {
  const text = elements(element, name)[0]?.trim() ?? '';
  return text.replace(/&(?:amp|lt|gt|quot|apos);/g, (entity) => entities[entity]!);
}

const dockerHub = 'registry-1.docker.io';

/** `auths`, each with a pair in base64 or in a program (`credHelpers`, `credsStore`). */
function readDocker(texts: RegistryTexts): FiledLogin[] {
  const file = '.docker/config.json';
  let config: unknown;
  try {
    config = JSON.parse(texts.get(file) ?? '{}');
  } catch {
    return [];
  }
  const auths = mapOf(config, 'auths');
  const helpers = mapOf(config, 'credHelpers');
  const store = typeof config === 'object' && config !== null ? Reflect.get(config, 'credsStore') : undefined;
  const names = new Set([...Object.keys(auths), ...Object.keys(helpers)]);
  return [...names].flatMap((name): FiledLogin[] => {
    const host = hostOf(name);
    const login = { ...usual, file, host, path: '/v2/', form: 'pair' as const };
    const helper = helpers[name] ?? (mapOf(auths, name).auth ? undefined : store);
    // A word: it becomes the name of a program.
    if (typeof helper === 'string' && /^[A-Za-z0-9._-]+$/.test(helper)) return [{ ...login, helper, secret: '' }];
    const { auth } = mapOf(auths, name);
    if (typeof auth !== 'string' || readPair(auth) === null) return [];
    const { username, password } = readPair(auth)!;
    return [{ ...login, secret: Buffer.from(`${username}:${password}`).toString('base64') }];
  });
}

/** What docker calls its own hub is not where it is. */
function hostOf(name: string): string {
  const host = name
    .replace(/^https?:\/\//, '')
    .replace(/\/.*$/, '')
    .replace(/:\d+$/, '')
    .toLowerCase();
  return ['docker.io', 'index.docker.io', 'registry.hub.docker.com'].includes(host) ? dockerHub : host;
}

function mapOf(value: unknown, key: string): Record<string, unknown> {
  const found: unknown =
    typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : null;
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : {};
}
