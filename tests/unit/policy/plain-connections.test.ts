import { describe, expect, test } from 'vitest';
import { parseHostPort } from '../../../src/kit/text/host-port.ts';
import { loadPolicyText } from '../../../src/policy/load/load-policy.ts';
import { pretendMachine } from './pretend-machine.ts';

async function errorsOf(text: string): Promise<string[]> {
  const result = await loadPolicyText(`version: 1\n${text}`, 'sallyport.yaml', '/', pretendMachine());
  return result.ok ? [] : result.errors.map(({ line, message }) => `${line}: ${message}`);
}

async function compiled(text: string) {
  const result = await loadPolicyText(`version: 1\n${text}`, 'sallyport.yaml', '/', pretendMachine());
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.policy;
}

describe('an entry with tcp', () => {
  test('is a rule of its own, which no request knows of', async () => {
    const policy = await compiled('allow:\n  - { host: [a.example.com, "*.b.example.com"], tcp: [6379, 6379] }\n');
    expect(policy.allow).toEqual([]);
    expect(policy.rulesFor('a.example.com')).toEqual([]);
    expect(policy.tcp.map(({ name, host, ports }) => [name, host.text, ports])).toEqual([
      ['allow[0]', 'a.example.com', [6379]],
      ['allow[0]', '*.b.example.com', [6379]],
    ]);
    expect(policy.tcpFor('x.b.example.com')).toHaveLength(1);
    expect(policy.tcpFor('b.example.com')).toEqual([]);
  });

  test.each([
    ['tcp: [443]', 'tunnel: true'],
    ['tcp: [80]', 'plain_http: true'],
    ['tcp: [53]', 'port 53 is DNS'],
    ['tcp: [3128]', 'the proxy in every sandbox'],
    ['tcp: [6379], ports: [443]', 'is not read'],
    ['tcp: [6379], tunnel: true', 'is not read'],
    ['tcp: [6379], ask: true', 'is not read'],
    ['tcp: [6379], methods: [GET]', 'is not read'],
    ['tcp: []', 'the list is empty'],
    ['tcp: [70000]', 'from 1 to 65535'],
  ])('says why not: %s', async (keys, why) => {
    expect(await errorsOf(`allow:\n  - { host: a.example.com, ${keys} }\n`)).toEqual([expect.stringContaining(why)]);
  });

  test('is for hosts with a name', async () => {
    expect((await errorsOf('allow:\n  - { host: "*", tcp: [6379] }\n')).join()).toContain('name them');
  });

  test.each([
    ['- { host: a.example.com, ports: [443, 6379] }', 'read as HTTP by allow[0]'],
    ['- { host: "*.example.com", ports: [6379] }', 'read as HTTP by allow[0]'],
    ['- preset: github', null],
  ])('does not take a port that is read: %s', async (entry, why) => {
    const errors = await errorsOf(`allow:\n  ${entry}\n  - { host: a.example.com, tcp: [6379] }\n`);
    expect(errors).toEqual(why === null ? [] : [expect.stringContaining(why)]);
  });

  test.each(['github.com', 'git.example.com'])('does not lead to a host of git: %s', async (host) => {
    const text = `git: { hosts: [git.example.com] }\nallow:\n  - host: ${host}\n  - { host: ${host}, tcp: [9418] }\n`;
    expect((await errorsOf(text)).join()).toContain('would not be judged');
  });
});

describe('ports of the host', () => {
  test('are numbers, or a number and another one inside', async () => {
    const policy = await compiled('run: { host_ports: [5432, "6379:16379"] }\n');
    expect(policy.run.hostPorts).toEqual([
      { port: 5432, inside: 5432 },
      { port: 6379, inside: 16379 },
    ]);
    expect((await compiled('allow: []\n')).run.hostPorts).toEqual([]);
  });

  test.each(['0', '70000', '5432:0', 'x', '127.0.0.1:5432', '1:2:3', '', '-1', '5432:'])('refused: %j', (text) => {
    expect(parseHostPort(text)).toHaveProperty('problem');
  });

  test.each([53, 80, 443, 3128])('inside, port %i is the door', (port) => {
    expect(parseHostPort(String(port))).toMatchObject({ problem: expect.stringContaining("the door's own") });
    expect(parseHostPort(`${port}:15000`)).toEqual({ value: { port, inside: 15000 } });
  });

  test('two with one port inside are an error', async () => {
    expect((await errorsOf('run: { host_ports: [5432, "6379:5432"] }\n')).join()).toContain('same port inside');
  });
});
