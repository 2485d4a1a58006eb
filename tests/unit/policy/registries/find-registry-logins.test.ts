// Logins of the user for registries, as credentials of the policy: where they go, and what the sandbox finds in their place.
import { describe, expect, test } from 'vitest';
import { readRegistryLogins } from '../../../../src/kit/registries/registry-files.ts';
import { type RegistryFamily, registryFamilies } from '../../../../src/kit/registries/registry-login.ts';
import type { CompiledPolicy } from '../../../../src/policy/compiled.ts';
import { explainPlaces } from '../../../../src/policy/explain/explain-hosts.ts';
import { policyOf, pretendMachine } from '../pretend-machine.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const secrets = ['npm-secret', 'pip-secret', 'netrc-secret', 'cargo-secret', 'maven-secret', 'docker-secret'];
const files = {
  '/home/ann/.npmrc': `registry=https://u:url-secret@npm.corp.example/x/?t=url-secret
@corp:registry=https://npm.corp.example/x/
//npm.corp.example/x/:_authToken=npm-secret
email=ann@corp.example
`,
  '/home/ann/.config/pip/pip.conf':
    '[global]\nindex-url = https://ann:pip-secret@pypi.corp.example/simple\nproxy = http://x\n',
  '/home/ann/.netrc':
    'machine net.corp.example login ann password netrc-secret\nmachine mail.example login a password netrc-secret\n',
  '/home/ann/.cargo/config.toml':
    '[registries.corp]\nindex = "sparse+https://crates.corp.example/i/"\n[http]\nproxy = "x"\n',
  '/home/ann/.cargo/credentials.toml': '[registries.corp]\ntoken = "cargo-secret"\n',
  '/home/ann/.m2/settings.xml': `<settings><servers><server><id>m</id><username>ann</username><password>maven-secret</password></server></servers>
<mirrors><mirror><id>m</id><url>https://maven.corp.example/repo/</url><mirrorOf>*</mirrorOf></mirror></mirrors></settings>`,
  '/home/ann/.docker/config.json': JSON.stringify({
    auths: { 'images.corp.example': { auth: base64('ann:docker-secret') } },
  }),
};
const policyText = (more = ''): string => `version: 1\nallow: [{host: "*.corp.example"}]\n${more}`;
const machine = (registryLogins = true) => ({ ...pretendMachine({ files }), registryLogins });

const placesOf = (policy: CompiledPolicy): string[] =>
  [...policy.credentials.values()].map((spec) => `${spec.name} ${explainPlaces(spec, true)}`).sort();

describe('the logins of a user', () => {
  test('go to their registries, where a rule allows those', async () => {
    expect(placesOf(await policyOf(policyText(), machine()))).toEqual([
      'cargo-crates.corp.example to crates.corp.example as Authorization',
      'docker-images.corp.example to images.corp.example (/v2/** and /v2) as Authorization: Basic',
      'maven-maven.corp.example to maven.corp.example (/repo/** and /repo) as the password of ann',
      'npm-npm.corp.example to npm.corp.example (/x/** and /x) as Authorization: Bearer',
      'pip-net.corp.example to net.corp.example as the password of ann',
      'pip-pypi.corp.example to pypi.corp.example as the password of ann',
    ]);
  });

  test('are left alone by a gateway that may not use them, and where the policy says so', async () => {
    for (const policy of [
      await policyOf(policyText(), machine(false)),
      await policyOf(policyText(), pretendMachine({ files })),
      await policyOf(policyText('secrets: {registry_logins: false}\n'), machine()),
    ]) {
      expect([...policy.credentials.keys(), ...(policy.registryFiles ?? [])]).toEqual([]);
    }
  });

  test('go nowhere that the policy has a credential for', async () => {
    const own = 'credentials: {mine: {hosts: ["*.corp.example"], inject: {bearer: true}}}\n';
    expect([...(await policyOf(policyText(own), machine())).credentials.keys()]).toEqual(['mine']);
  });

  test('stay out of the files of the sandbox, which has the addresses and placeholders', async () => {
    const policy = await policyOf(policyText(), machine());
    const found = new Map(policy.registryFiles!.map(({ path, text }) => [path, text]));
    expect([...found.keys()]).toEqual([
      '.npmrc',
      '.config/pip/pip.conf',
      '.cargo/config.toml',
      '.cargo/credentials.toml',
      '.m2/settings.xml',
      '.docker/config.json',
    ]);
    const all = JSON.stringify([...found]);
    for (const secret of [...secrets, 'url-secret']) {
      expect(all).not.toContain(secret);
      expect(all).not.toContain(base64(`ann:${secret}`));
    }
    expect(all).not.toMatch(/proxy|email|mail\.example/);
    expect(found.get('.npmrc')).toBe(`registry=https://npm.corp.example/x/
@corp:registry=https://npm.corp.example/x/
//npm.corp.example/x/:_authToken=sallyport-placeholder-for-npm-npm_corp_example-the-gateway-puts-the-real-key-in
`);
    // What reads the files of a user finds the same places in them.
    const inside = (family: RegistryFamily) => readRegistryLogins(family, found, {}).map(({ host }) => host);
    expect(registryFamilies.flatMap(inside)).toEqual([
      'npm.corp.example',
      'pypi.corp.example',
      'crates.corp.example',
      'maven.corp.example',
      'images.corp.example',
    ]);
  });
});
