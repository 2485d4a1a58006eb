// `upstream.proxy`: the operator's own proxy, with a login, or the one that the usual variables name. A password never stands in the
// document; that of a variable stays in the variable until it is needed.
import { isIP } from 'node:net';
import * as z from 'zod';
import { compileGlob } from '../../kit/text/glob.ts';
import type { HostPattern, UpstreamProxy } from '../compiled.ts';
import { parseHostName, parseHostPattern } from '../host-pattern.ts';
import type { Parsed } from './parsed.ts';
import { listOf, strictKeys, textRead } from './schema.ts';
import type { HostAndPort } from './settings-schema.ts';
import { plainSource } from './source-schema.ts';

const example = 'http://proxy.example.com:3128';

/** `http://host:port`, nothing more: credentials do not belong into this file. */
export function parseUpstreamProxy(text: string): Parsed<HostAndPort> {
  const read = readAddress(text);
  if ('problem' in read) return read;
  const { username, password, host, port } = read.value;
  if (username !== '' || password !== '') {
    return {
      problem: `no user name or password in this address: write {url: ${example}, username: NAME, password: SOURCE}`,
    };
  }
  return { value: { host, port } };
}

interface ProxyAddress extends HostAndPort {
  readonly username: string;
  readonly password: string;
}

function readAddress(text: string): Parsed<ProxyAddress> {
  if (!URL.canParse(text)) return { problem: `write ${example}` };
  const url = new URL(text);
  if (url.protocol !== 'http:') return { problem: 'only plain http:// proxies are spoken to: write http://host:port' };
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return { problem: 'write http://host:port alone' };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0 && 'problem' in parseHostName(host)) return { problem: `write ${example}` };
  const { username, password } = url;
  return { value: { host, port: url.port === '' ? 80 : Number(url.port), username, password } };
}

const address = textRead(parseUpstreamProxy, example);

/** Of hosts that need no proxy: `.example.com` is the usual spelling of `*.example.com` and the apex. */
const exception = textRead(parseHostPattern, 'a host name such as intern.example.com or "*.example.com"');

export const proxyKeys = strictKeys({
  url: address,
  username: z
    .string({ error: 'write a user name' })
    .regex(/^[\x21-\x39\x3b-\x7e]+$/, { error: 'a user name is plain ASCII without colons' })
    .optional(),
  password: z.lazy(() => plainSource).optional(),
  connect: z
    .enum(['address', 'name'], { error: 'write address, or name where the proxy has to resolve names itself' })
    .default('address'),
  except: listOf(exception, '[intern.example.com]').optional(),
});

export const writtenProxy = proxyKeys.transform((written, context): UpstreamProxy => {
  const { url, username, password, connect, except = [] } = written;
  if ((username === undefined) !== (password === undefined)) {
    context.addIssue({
      code: 'custom',
      message: 'a login has both: username: NAME and password: {file: /absolute/path}',
    });
    return z.NEVER;
  }
  const login = username === undefined ? null : { kind: 'own' as const, username, password: password! };
  return { ...url, byName: connect === 'name', except, login };
});

export const plainProxy = address.transform(
  (url): UpstreamProxy => ({ ...url, byName: false, except: [], login: null }),
);

/** In the order in which most programs look. */
const proxyVariables = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'] as const;

/** All that `upstream.proxy: system` depends on. */
export const systemProxyVariables: readonly string[] = [...proxyVariables, 'no_proxy', 'NO_PROXY'];

type Environment = Readonly<Record<string, string | undefined>>;

/** What the usual variables say. Null: no proxy. A sentence: why they cannot be followed, without what they hold. */
export function systemProxy(env: Environment): UpstreamProxy | null | string {
  const variable = proxyVariables.find((name) => (env[name] ?? '') !== '');
  if (variable === undefined) return null;
  const text = env[variable]!;
  const read = readAddress(text.includes('://') ? text : `http://${text}`);
  if ('problem' in read) return `the variable ${variable} cannot be followed: ${read.problem}`;
  const { host, port, username } = read.value;
  const except = exceptions(env.no_proxy ?? env.NO_PROXY ?? '');
  if (except === null) return null;
  return { host, port, byName: false, except, login: username === '' ? null : { kind: 'variable', variable } };
}

/** Null: every host. Addresses and networks are passed over: hosts are asked for by name here. */
function exceptions(text: string): HostPattern[] | null {
  const entries = text.split(/[\s,]+/).map((entry) => entry.toLowerCase().replace(/:\d+$/, ''));
  if (entries.includes('*')) return null;
  return entries.flatMap((entry) => {
    const name = entry.replace(/^\*?\.*/, '');
    if (name === '' || isIP(name) !== 0 || 'problem' in parseHostName(name)) return [];
    const below = compileGlob(`**.${name}`);
    return [{ text: name, covers: (host: string) => host === name || below.covers(host) }];
  });
}
