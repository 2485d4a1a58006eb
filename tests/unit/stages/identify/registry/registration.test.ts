import { describe, expect, test } from 'vitest';
import {
  type RegistrationRequest,
  readRegistration,
} from '../../../../../src/stages/identify/registry/registration.ts';
import { RegistrationError } from '../../../../../src/stages/identify/registry/registration-error.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const context = { knownCredentials: new Set(['github', 'anthropic']), nowMs };

function read(input: unknown): RegistrationRequest {
  return readRegistration(input, context);
}

function problemsOf(input: unknown): readonly string[] {
  try {
    read(input);
  } catch (error) {
    if (error instanceof RegistrationError && error.status === 400) return error.problems;
    throw error;
  }
  return [];
}

describe('a registration is read as the contract writes it', () => {
  test('every field of the contract, in canonical form', () => {
    expect(
      read({
        container_ip: '::ffff:172.18.0.5',
        container_id: 'abc123def456',
        repos: ['Owner/Repo1.git', 'owner/repo1', 'Org/*'],
        auth_mode: 'user',
        allowed_branches: ['sandbox/*', 'bot/*'],
        credentials: ['github', 'anthropic'],
        proof: ['ip', 'secret'],
        expires_at: '2027-01-15T00:00:00Z',
      }),
    ).toEqual({
      id: null,
      containerIp: '172.18.0.5',
      containerId: 'abc123def456',
      network: null,
      container: null,
      repos: ['owner/repo1', 'org/*'],
      authMode: 'user',
      allowedBranches: ['sandbox/*', 'bot/*'],
      credentials: ['github', 'anthropic'],
      proof: ['ip', 'secret'],
      proofIsDefault: false,
      expiresAtMs: Date.parse('2027-01-15T00:00:00Z'),
      namespacePid: null,
      hostPorts: [],
    });
  });

  test('an address alone gives a bot that proves itself by it, with no repository and every credential', () => {
    expect(read({ container_ip: '172.18.0.5' })).toEqual({
      id: null,
      containerIp: '172.18.0.5',
      containerId: null,
      network: null,
      container: null,
      repos: [],
      authMode: 'bot',
      allowedBranches: ['sandbox/*'],
      credentials: null,
      proof: ['ip'],
      proofIsDefault: true,
      expiresAtMs: null,
      namespacePid: null,
      hostPorts: [],
    });
  });

  test('without an address the proof is a secret', () => {
    expect(read({}).proof).toEqual(['secret']);
  });

  test('a container needs no address: Docker knows it', () => {
    const asked = read({ container_id: 'agent', network: 'sandboxes' });
    expect(asked).toMatchObject({ containerId: 'agent', network: 'sandboxes', containerIp: null, proof: ['ip'] });
    expect(read({ container_id: 'agent', proof: ['ip', 'secret'] }).proof).toEqual(['ip', 'secret']);
  });

  test('an empty list of credentials means none, not all', () => {
    expect(read({ credentials: [] }).credentials).toEqual([]);
  });

  test('a zone other than UTC is understood', () => {
    expect(read({ expires_at: '2026-01-01T03:00:00+02:00' }).expiresAtMs).toBe(nowMs + 3_600_000);
  });
});

describe('a registration that is wrong says everything that is wrong', () => {
  test('all errors come at once', () => {
    const problems = problemsOf({
      container_ip: '300.1.1.1',
      repos: ['ok/ok', 'not-a-repo', '../etc'],
      auth_mode: 'root',
      credentials: ['github', 'stripe'],
      proof: ['mtls', 'retina'],
      expires_at: '2020-01-01T00:00:00Z',
      colour: 'red',
    });
    const text = problems.join('\n');
    expect(text).toContain('container_ip: "300.1.1.1" is not an IPv4 or IPv6 address');
    expect(text).toContain('repos[1]: "not-a-repo" is not a repository');
    expect(text).toContain('repos[2]: "../etc" is not a repository');
    expect(text).toContain('auth_mode: must be bot or user');
    expect(text).toContain('credentials: "stripe" is not configured (configured: github, anthropic)');
    expect(text).toContain('proof[1]: must be ip, secret, mtls or socket');
    expect(text).toContain('expires_at: 2020-01-01T00:00:00Z is in the past');
    expect(text).toContain('"colour" is not a key of a registration');
    expect(problems).toHaveLength(8);
  });

  test.each([
    [{ proof: ['ip'] }, 'ip needs container_ip'],
    [{ proof: ['ip'], container_ip: null }, 'ip needs container_ip'],
    [{ proof: [] }, 'proof: must list at least one'],
    [{ network: 'sandboxes' }, 'network: needs container_id'],
    [{ network: '../x', container_id: 'abc' }, 'network: must be the name of a Docker network'],
    [{ container_ip: '0.0.0.0' }, 'no sandbox can call from'],
    [{ container_ip: '010.0.0.1' }, 'is not an IPv4'],
    [{ expires_at: '2027-01-15T00:00:00' }, 'with a zone'],
    [{ expires_at: 'tomorrow' }, 'with a zone'],
    [{ expires_at: '2026-01-01T00:00:00Z' }, 'in the past'],
    [{ id: 'Upper' }, 'id: must be'],
    [{ id: '../x' }, 'id: must be'],
    [{ id: '10.0.0.1' }, 'must not look like an address'],
    [{ id: 'sandbox' }, 'choose another'],
    [{ allowed_branches: ['refs/heads/x'] }, 'allowed_branches[0]: is not a branch pattern'],
    [{ allowed_branches: ['a..b'] }, 'is not a branch pattern'],
    [{ container_id: 'a b' }, 'container_id: must be'],
    [{ repos: 'owner/repo' }, 'repos:'],
    [[], 'must be a JSON object'],
    [null, 'must be a JSON object'],
    ['x', 'must be a JSON object'],
  ])('%j: %s', (input, expected) => {
    const problems = problemsOf(input);
    expect(problems.join('\n')).toContain(expected);
    expect(problems).toHaveLength(1);
  });
});

describe('a registration with a namespace', () => {
  test('is proven by its door alone, also when it does not say so', () => {
    expect(read({ namespace: { pid: 4711 } })).toMatchObject({ proof: ['socket'], namespacePid: 4711 });
    expect(read({ namespace: { pid: 4711 }, proof: ['socket'] }).proof).toEqual(['socket']);
  });

  test.each([
    [{ namespace: { pid: 4711 }, proof: ['secret'] }, 'proof: with a namespace it is ["socket"]'],
    [{ namespace: { pid: 4711 }, proof: ['socket', 'secret'] }, 'proof: with a namespace it is ["socket"]'],
    [{ namespace: { pid: 1 } }, 'namespace[pid]: must be a process of the sandbox'],
    [{ namespace: { pid: 1.5 } }, 'namespace[pid]: must be the number of a process'],
    [{ namespace: { path: '/proc/2/ns/net' } }, 'namespace'],
  ])('%j is refused', (input, problem) => {
    expect(problemsOf(input).join('; ')).toContain(problem);
  });
});
