import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { embeddedDefault } from '../../../../src/policy/load/load-policy.ts';
import { policyJsonSchema } from '../../../../src/policy/schema/json-schema.ts';
import { keyWords } from '../../../../src/policy/schema/key-words.ts';
import { loadPresets } from '../../../../src/policy/schema/presets.ts';
import { SchemaCheck } from '../../../support/json-schema-check.ts';
import { runWith } from '../../cli/command-line.ts';
import { errorsOf } from '../pretend-machine.ts';

const schema = policyJsonSchema();
const check = new SchemaCheck(schema);
const inRoot = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const sections = Object.keys(schema.properties as object);

/** Every whole document that this package shows to people, and the parts of one in its pages (with the version they leave out). */
function shownDocuments(): [name: string, text: string][] {
  const files = [
    'config/policy.yaml.example',
    'docker/config/sallyport.yaml',
    'deploy/kubernetes/gateway/sallyport.yaml',
    'deploy/kubernetes/sidecar/sallyport.yaml',
  ].filter((file) => existsSync(inRoot(file)));
  const pages = ['', 'docs/', 'docs/policy/'].flatMap((folder) =>
    readdirSync(inRoot(folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}${name}`),
  );
  const blocks = pages.flatMap((page) =>
    [...readFileSync(inRoot(page), 'utf8').matchAll(/^```ya?ml\n([\s\S]*?)^```/gm)].map(
      ([, text = ''], i): [string, string] => [`${page} (block ${i + 1})`, text],
    ),
  );
  const isPolicy = ([, text]: [string, string]): boolean => {
    const value: unknown = parse(text);
    return typeof value === 'object' && value !== null && Object.keys(value).every((key) => sections.includes(key));
  };
  const whole = (text: string): string => (/^version:/m.test(text) ? text : `version: 1\n${text}`);
  return [
    ['the embedded default', embeddedDefault],
    ...files.map((file): [string, string] => [file, readFileSync(inRoot(file), 'utf8')]),
    ...blocks.filter(isPolicy).map(([name, text]): [string, string] => [name, whole(text)]),
  ];
}

const everyForm = `version: 1
listen: {proxy: [127.0.0.1:8080, "[::1]:8080"], mtls: 0.0.0.0:8443, gateway: 172.30.0.0/24, dashboard: localhost:8642, workers: 2}
allow:
  - preset: github
  - {host: [a.example, "*.b.example"], methods: [GET, X-ODD], paths: ["/v1/**", /x], ports: [8443], conversation: true}
  - {host: c.example, plain_http: true}
  - {host: "*.d.example", tunnel: true}
  - {host: "*", ask: true}
  - host: bücher.example
approvals:
credentials:
  github: {app: {id: 7, private_key: {file: /k.pem}, installation: 1, permissions: {contents: write}}}
  chatgpt: {source: {login: codex}, companions: {X-Org: me}, anonymous: true}
  anthropic: {source: {login: {agent: opencode, provider: anthropic, file: /auth.json}}}
  openai:
  one: {hosts: a.example, inject: {header: x-key, prefix: "Token "}, source: {command: [pass, show], ttl_seconds: 3, pass_env: [A]}}
  two: {hosts: [a.example], paths: [/v1/**], inject: {basic: {username: u}}, source: {env: A_B, i_accept_environment: true}}
  three: {hosts: a.example, inject: {query: key}, source: {age: {file: /f.age, identity: {keyring: {service: s}}}}}
  four: {hosts: s3.us-east-1.amazonaws.com, inject: {sigv4: true}, source: {aws_profile: {profile: p, file: /aws}}}
  five: {hosts: a.example, inject: {bearer: true}, source: {google_service_account: {key: {file: /g.json}, scopes: [a], subject: s}}}
  six:
    hosts: a.example
    inject: {bearer: true}
    source: {oauth: {token_url: "https://t.example/x", grant: refresh_token, refresh_token: {file: /r}, parameters: {a: b}, body: json}}
  ghe: {hosts: ghe.example, app: {id: Iv1.abc, private_key: {command: [pass]}}}
policy: {blocked_api_patterns: {DELETE: ["^/x$"]}, protected_branches: [main], allow_force_push: true}
github: {hosts: [ghe.example], effects: {bot: {allow: [release], ask: [merge], block: [issue]}}}
git: {hosts: [git.example], public_fetch: true}
docker: {socket: /d.sock, register_labelled: true, network: n}
limits: {requests_per_minute: 1, credential: {burst: 2}, gateway: {connections: 3}}
budgets: {period: week, sandbox: {tokens: 5, dollars: 0.5}, prices: {"my-*": {input: 1, output: 2, cache_read: 0}}}
store: {url: "redis://r.example:6379/0", password: {file: /p}, prefix: "x:", grace_seconds: 0, shared_addresses: true}
secrets: {scrub: false, misplaced: revoke, conversations: refuse, searched_body_bytes: 0}
upstream: {resolve: {a.example: "127.0.0.1:9443"}, proxy: "http://proxy.example:3128"}
audit: {max_file_bytes: 4096, keep_files: 1}
`;

const wrong: [what: string, text: string][] = [
  ['no version', 'allow: []'],
  ['another version', 'version: 2'],
  ['an unknown section', 'version: 1\nalow: []'],
  ['an unknown key of a rule', 'version: 1\nallow: [{host: a.example, method: [GET]}]'],
  ['an unknown preset', 'version: 1\nallow: [{preset: githup}]'],
  ['a preset with a path', 'version: 1\nallow: [{preset: github, paths: [/x]}]'],
  ['an entry with neither preset nor host', 'version: 1\nallow: [{paths: [/x]}]'],
  ['a host with a scheme', 'version: 1\nallow: [{host: "https://a.example"}]'],
  ['a method in lower case', 'version: 1\nallow: [{host: a.example, methods: [get]}]'],
  ['a path without its slash', 'version: 1\nallow: [{host: a.example, paths: [v1]}]'],
  ['an empty list of paths', 'version: 1\nallow: [{host: a.example, paths: []}]'],
  ['a port that is none', 'version: 1\nallow: [{host: a.example, ports: [70000]}]'],
  ['yes in place of true', 'version: 1\nallow: [{host: a.example, tunnel: "yes"}]'],
  ['a secret in the file', 'version: 1\ncredentials: {anthropic: {source: sk-ant-1}}'],
  ['a secret under a name', 'version: 1\ncredentials: {anthropic: {source: {value: sk-ant-1}}}'],
  ['two sources', 'version: 1\ncredentials: {anthropic: {source: {file: /a, command: [b]}}}'],
  ['a relative file', 'version: 1\ncredentials: {anthropic: {source: {file: a}}}'],
  ['hosts of a preset', 'version: 1\ncredentials: {anthropic: {hosts: a.example}}'],
  ['an App where there are none', 'version: 1\ncredentials: {anthropic: {app: {id: 1, private_key: {file: /k}}}}'],
  ['an App without its key', 'version: 1\ncredentials: {github: {app: {id: 1}}}'],
  [
    'a service account without its key',
    'version: 1\ncredentials: {vertex: {source: {google_service_account: {subject: s}}}}',
  ],
  ['a credential without hosts', 'version: 1\ncredentials: {mine: {inject: {bearer: true}}}'],
  [
    'two forms of one credential',
    'version: 1\ncredentials: {mine: {hosts: a.example, inject: {bearer: true, query: k}}}',
  ],
  ['an effect that is none', 'version: 1\ngithub: {effects: {bot: {ask: [mrege]}}}'],
  ['a mode that is none', 'version: 1\ngithub: {effects: {robot: {ask: [merge]}}}'],
  ['a limit below its bound', 'version: 1\nlimits: {requests_per_minute: 0}'],
  ['half a request', 'version: 1\nlimits: {requests_per_minute: 1.5}'],
  ['a period that is none', 'version: 1\nbudgets: {period: year}'],
  ['an address without a port', 'version: 1\nlisten: {proxy: 127.0.0.1}'],
  ['a store without an address', 'version: 1\nstore: {prefix: x}'],
  ['a proxy over https', 'version: 1\nupstream: {proxy: "https://p.example:1"}'],
];

/** Every key of every map in the schema, with its own schema. */
function keysIn(node: unknown, at = ''): [place: string, schema: Record<string, unknown>][] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, value]): [string, Record<string, unknown>][] => {
    if (name === 'default' || name === 'examples') return [];
    const below = keysIn(value, `${at}.${name}`);
    if (name !== 'properties' || Array.isArray(node)) return below;
    const own = Object.entries(value as Record<string, Record<string, unknown>>);
    return [...own.map(([key, one]): [string, Record<string, unknown>] => [`${at}.${key}`, one]), ...below];
  });
}

describe('the JSON Schema of sallyport.yaml', () => {
  test.each(shownDocuments())('takes %s', (_name, text) => {
    expect(check.problems(parse(text))).toEqual([]);
  });

  test('takes every form that the gateway takes', async () => {
    expect((await errorsOf(everyForm)).map(({ message, path }) => `${path}: ${message}`)).toEqual([]);
    expect(check.problems(parse(everyForm))).toEqual([]);
    expect(check.problems(parse('version: 1\nstore: redis://r.example:6379/0'))).toEqual([]);
    expect(check.problems(parse('version: 1\nallow:\nlisten:\ncredentials:'))).toEqual([]);
  });

  test('takes the scheme of an address in upper case, as the gateway does', async () => {
    for (const text of [
      'version: 1\nupstream: {proxy: "HTTP://p.example:3128"}',
      'version: 1\nallow: [{host: a.example}]\ncredentials: {mine: {hosts: a.example, inject: {bearer: true}, source: {oauth: {token_url: "HTTPS://t.example/x", grant: refresh_token, refresh_token: {file: /r}}}}}',
    ]) {
      expect(await errorsOf(text)).toEqual([]);
      expect(check.problems(parse(text))).toEqual([]);
    }
  });

  test.each(wrong)('refuses %s, as the gateway does', async (_what, text) => {
    expect((await errorsOf(text)).length).toBeGreaterThan(0);
    expect(check.problems(parse(text))).not.toEqual([]);
  });

  test('has every section that the gateway reads, and no other', async () => {
    const [error] = await errorsOf('version: 1\nzzzzzzzzzzzzzzzzzzzz: 1');
    expect(sections.join(', ')).toBe(/known: (.+)$/.exec(error!.message)?.[1]);
  });

  test('says something of every key, and nothing of keys that are gone', () => {
    const keys = keysIn(schema);
    expect(keys.length).toBeGreaterThan(150);
    expect(keys.filter(([, one]) => typeof one.description !== 'string').map(([place]) => place)).toEqual([]);
    const titles = new Set(
      JSON.stringify(schema)
        .match(/"title":"([^"]+)"/g)
        ?.map((text) => text.slice(9, -1)),
    );
    expect(Object.keys(keyWords).filter((place) => !titles.has(place))).toEqual([]);
  });

  test('knows every preset and every credential of one', () => {
    const { presets, credentials } = loadPresets();
    expect(Reflect.get(Object(schema.definitions), 'preset')).toMatchObject({ enum: [...presets.keys()] });
    for (const name of credentials.keys())
      expect(check.problems({ version: 1, credentials: { [name]: null } })).toEqual([]);
  });

  test('is what `sallyport config schema` prints, and what config/sallyport.schema.json holds', async () => {
    const { code, out } = await runWith(['config', 'schema']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(schema);
    // Made anew by: sallyport config schema > config/sallyport.schema.json && npx biome format --write config
    expect(JSON.parse(readFileSync(inRoot('config/sallyport.schema.json'), 'utf8'))).toEqual(schema);
  });

  test('its examples fit it', () => {
    const misfits = keysIn(schema).flatMap(([place, one]) =>
      ((one.examples as unknown[]) ?? []).flatMap((example) => check.problems(example, one, place)),
    );
    expect(misfits).toEqual([]);
  });
});
