// Logins for registries in the user's own files become credentials of the policy, where a rule allows their host and nothing else is
// placed there. Only for a gateway that may use what its user has. Reads places and names, and keeps no value.
import { join } from 'node:path';
import { type FiledLogin, readRegistryLogins, registryFiles } from '../../kit/registries/registry-files.ts';
import { type RegistryFamily, type RegistryTexts, registryFamilies } from '../../kit/registries/registry-login.ts';
import { compileGlob } from '../../kit/text/glob.ts';
import type { AllowRule, CredentialSpec, Injection, LoginUse } from '../compiled.ts';
import { exactHost } from '../host-pattern.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import { type ToolFile, toolFilesOf } from './tool-files.ts';

export interface FoundRegistries {
  readonly credentials: readonly CredentialSpec[];
  /** Configuration for the sandbox, with placeholders. */
  readonly files: readonly ToolFile[];
}

const none: FoundRegistries = { credentials: [], files: [] };

export function findRegistryLogins(
  machine: MachineFiles | null,
  rules: readonly AllowRule[],
  placed: ReadonlyMap<string, CredentialSpec>,
): FoundRegistries {
  if (machine?.registryLogins !== true) return none;
  const credentials = new Map<string, CredentialSpec>();
  const files: ToolFile[] = [];
  for (const family of registryFamilies) {
    const texts = textsOf(family, machine);
    if (texts.size === 0) continue;
    const logins = readRegistryLogins(family, texts, machine.env).filter(
      ({ host }) => isAllowed(rules, host) && !isTaken(placed, host),
    );
    const named = logins.map((login) => ({ login, name: nameFor(family, login, credentials, placed) }));
    for (const { login, name } of named) credentials.set(name, specOf(family, name, login, machine.home));
    if (named.length > 0) files.push(...toolFilesOf(family, texts, named, machine.env));
  }
  // Where two cover a path, the one that says more of it goes first.
  const byPath = [...credentials.values()].sort((one, other) => pathOf(other).length - pathOf(one).length);
  return { credentials: byPath, files };
}

function textsOf(family: RegistryFamily, machine: MachineFiles): RegistryTexts {
  const texts = registryFiles[family].map((file) => [file, machine.readText(join(machine.home, file))] as const);
  return new Map(texts.filter((entry): entry is readonly [string, string] => entry[1] !== null));
}

function isAllowed(rules: readonly AllowRule[], host: string): boolean {
  return rules.some((rule) => !rule.tunnel && rule.host.covers(host));
}

/** What the document or a preset places there is what the operator means. */
function isTaken(placed: ReadonlyMap<string, CredentialSpec>, host: string): boolean {
  return [...placed.values()].some(({ placements }) =>
    placements.some(({ hosts }) => hosts.some((pattern) => pattern.covers(host))),
  );
}

function nameFor(
  family: RegistryFamily,
  { host }: FiledLogin,
  ...taken: readonly ReadonlyMap<string, CredentialSpec>[]
): string {
  const name = `${family}-${host}`;
  for (let count = 1; ; count++) {
    const numbered = count === 1 ? name : `${name}-${count}`;
    if (!taken.some((names) => names.has(numbered))) return numbered;
  }
}

const bearer: Injection = { kind: 'header', header: 'Authorization', prefix: 'Bearer ' };

function injectionOf({ form, username }: FiledLogin): Injection {
  switch (form) {
    case 'bearer':
      return bearer;
    case 'basic':
      return { kind: 'basic', username: username ?? '' };
    case 'token':
      return { kind: 'header', header: 'Authorization', prefix: '' };
    case 'pair':
      return { kind: 'header', header: 'Authorization', prefix: 'Basic ' };
  }
}

/** A registry of images may give a token for the pair: then that goes out. */
const exchanged: LoginUse = { injection: bearer, listed: [], agents: [], opencodeProvider: null, tokenEndpoints: [] };

function specOf(family: RegistryFamily, name: string, login: FiledLogin, home: string): CredentialSpec {
  const { secret: _, file, host, ...place } = login;
  const path = { text: `${login.path}**`, covers: compileGlob(`${login.path}**`).covers };
  const bare = { text: login.path.slice(0, -1), covers: compileGlob(login.path.slice(0, -1)).covers };
  return {
    name,
    line: null,
    placements: [
      { hosts: [exactHost(host)], paths: login.path === '/' ? null : [path, bare], injection: injectionOf(login) },
    ],
    stripHeaders: ['authorization'],
    stripQuery: [],
    companionDefaults: [],
    companionForced: [],
    anonymous: true,
    login: family === 'docker' ? exchanged : null,
    source: { kind: 'registry', family, home, file, place: { host, ...place } },
  };
}

function pathOf({ placements }: CredentialSpec): string {
  return placements[0]?.paths?.[0]?.text ?? '';
}
