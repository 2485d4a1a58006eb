import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../../src/path/exchange/header-list.ts';
import type { CanonicalRequest } from '../../../../../src/path/flow.ts';
import { Refusal } from '../../../../../src/path/refusal.ts';
import type { Sandbox } from '../../../../../src/path/sandbox.ts';
import { decide } from '../../../../../src/stages/authorize/decide.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const sandbox: Sandbox = {
  ...{ id: 'sbx', containerIp: null, containerId: null, repos: [], authMode: 'bot', allowedBranches: [] },
  ...{ credentials: null, proof: ['socket'], createdAt: '', namespacePid: 42 },
};
const policy = handMadePolicy({
  allow: [{ host: 'api.example.com' }, { host: 'read.db.example.com', ports: [5432] }],
  tcp: [
    { host: 'cache.example.com', ports: [6379, 6380] },
    { host: '*.db.example.com', ports: [5432] },
    { host: '*.example.com', ports: [9418] },
  ],
  credentials: [{ name: 'key', hosts: ['key.db.example.com'] }],
  githubHosts: ['ghe.example.com'],
  hostPorts: [{ port: 5432, inside: 15432 }],
});

function ask(kind: CanonicalRequest['kind'], host: string, port: number, of: Sandbox = sandbox) {
  const whole = { path: '/', rawPath: '/', query: null, method: kind === 'http' ? 'GET' : 'CONNECT' };
  try {
    return decide(policy, of, { ...whole, scheme: 'https', host, port, kind }, new HeaderList());
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { code: error.code, rule: error.rule, hint: error.hint };
  }
}

describe('a plain connection', () => {
  test.each(['tcp', 'connect'] as const)('passes under its entry, unread and without a credential (%s)', (kind) => {
    expect(ask(kind, 'cache.example.com', 6379)).toEqual({
      ...{ rule: 'tcp[0]', tcp: true, tunnel: false, credential: null, git: null, github: null, repository: null },
    });
    expect(ask(kind, 'a.db.example.com', 5432)).toMatchObject({ rule: 'tcp[1]', tcp: true });
  });

  test('another port of the host is refused, with the narrowest change that would let it pass', () => {
    expect(ask('tcp', 'cache.example.com', 6381)).toMatchObject({
      code: 'target.port',
      rule: 'tcp[0], tcp[2]',
      hint: 'Write tcp: [6379, 6380, 6381] in tcp[0] to allow it.',
    });
  });

  test('a host that is allowed for requests is no host for plain connections, nor the reverse', () => {
    expect(ask('tcp', 'api.example.com', 6379)).toMatchObject({
      code: 'target.port',
      hint: 'To allow it, add to sallyport.yaml under allow:\n  - host: api.example.com\n    tcp: [6379]',
    });
    expect(ask('tcp', 'api.example.com', 443)).toMatchObject({ code: 'target.port' });
    expect(ask('http', 'cache.example.com', 443)).toMatchObject({
      code: 'domain.not-allowed',
      hint: expect.stringContaining('- host: cache.example.com'),
    });
    expect(ask('tunnel', 'cache.example.com', 6379)).toMatchObject({ code: 'domain.not-allowed' });
  });

  test('an unknown host is refused as unknown, with the entry for a plain connection', () => {
    expect(ask('tcp', 'elsewhere.test', 6379)).toMatchObject({
      code: 'domain.not-allowed',
      hint: expect.stringContaining('tcp: [6379]'),
    });
  });

  test('a wildcard leads neither to a host with a credential, nor where requests are read, nor to git', () => {
    expect(ask('tcp', 'key.db.example.com', 5432)).toMatchObject({ code: 'target.port' });
    expect(ask('tcp', 'read.db.example.com', 5432)).toMatchObject({
      code: 'target.port',
      hint: expect.stringContaining('is read'),
    });
    expect(ask('tcp', 'ghe.example.com', 9418)).toMatchObject({
      code: 'target.port',
      hint: expect.stringContaining('pushes are judged'),
    });
    expect(ask('tcp', 'other.example.com', 9418)).toMatchObject({ tcp: true });
  });

  test('its name may be looked up, and only its addresses', () => {
    const lookup = (path: string) => {
      const whole = { path, rawPath: path, query: null, method: 'DNS', scheme: 'https', port: 443 } as const;
      return () => decide(policy, sandbox, { ...whole, host: 'cache.example.com', kind: 'lookup' }, new HeaderList());
    };
    expect(lookup('/A')()).toMatchObject({ rule: 'tcp[0]' });
    expect(lookup('/TXT')).toThrow('TXT');
  });

  test('the page of the door itself is not reached so', () => {
    expect(ask('tcp', 'sallyport.internal', 6379)).toMatchObject({ code: 'target.port' });
  });
});

describe('a port of the host', () => {
  test('is one that the sandbox was started with, or that the policy gives every sandbox of run', () => {
    expect(ask('host-port', 'localhost', 5432)).toMatchObject({ rule: 'run.host_ports[0]', tcp: true });
    const started = { ...sandbox, hostPorts: [{ port: 6379, inside: 6379 }] };
    expect(ask('host-port', 'localhost', 6379, started)).toMatchObject({ rule: '--host-port 6379' });
  });

  test('no other is: not the port inside, not one of another sandbox, not for a container or a stranger', () => {
    expect(ask('host-port', 'localhost', 15432)).toMatchObject({ code: 'target.port' });
    expect(ask('host-port', 'localhost', 6379)).toMatchObject({
      code: 'target.port',
      hint: expect.stringContaining('--host-port 6379'),
    });
    expect(ask('host-port', 'localhost', 5432, { ...sandbox, containerId: 'c' })).toHaveProperty('code');
    expect(ask('host-port', 'localhost', 5432, { ...sandbox, namespacePid: null })).toHaveProperty('code');
  });
});
