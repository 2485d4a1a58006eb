// The red team against the real thing, and against next to no controls: it must find what holds and, just as
// surely, what does not.
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { createContext } from '../../src/cli/cli-context.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { addRedteamCommand } from '../../src/cli/redteam.ts';
import type { AttackVerdict } from '../../src/prove/redteam/attack.ts';
import { attackList } from '../../src/prove/redteam/attack-list.ts';
import type { AttackResult } from '../../src/prove/redteam/run-attacks.ts';
import { attackWithoutControls } from './redteam-ground.ts';

interface Report {
  readonly ok: boolean;
  readonly launcher: string;
  readonly counts: Record<AttackVerdict, number>;
  readonly attacks: readonly AttackResult[];
}

interface Ran {
  readonly code: number;
  readonly out: string;
}

async function redteam(...args: string[]): Promise<Ran> {
  let out = '';
  const context = createContext({
    env: { ...process.env, NO_COLOR: '1' },
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: {
      write: (text) => {
        out += text;
      },
    },
    stderr: { write: () => {} },
  });
  const program = await buildProgram(context);
  if (!program.commands.some((command) => command.name() === 'redteam')) addRedteamCommand(program, context);
  await program.parseAsync(['redteam', ...args], { from: 'user' });
  return { code: context.exitCode, out };
}

const leftovers = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith(`sallyport-redteam-${process.pid}-`));

afterEach(() => {
  expect(leftovers()).toEqual([]);
});

test('every attack from inside a real sandbox is refused by us, with proof', { timeout: 120_000 }, async () => {
  const { code, out } = await redteam('--json');
  const { attacks, counts, launcher } = JSON.parse(out) as Report;
  expect(launcher).toBe('bubblewrap');
  expect(attacks.length).toBeGreaterThanOrEqual(40);
  const failed = attacks.filter(({ verdict, evidence }) => verdict !== 'held' && !isMissingHere(verdict, evidence));
  expect(failed.map(({ name, verdict, evidence }) => `${verdict} ${name}: ${evidence}`)).toEqual([]);
  expect(code).toBe(counts.held === attacks.length ? 0 : 5);
});

/** A machine without disks or /dev/mem has none to attack. */
function isMissingHere(verdict: AttackVerdict, evidence: string): boolean {
  return verdict === 'not run' && evidence === 'this machine has none';
}

describe('missing controls are found out', () => {
  const through = [
    'env-every-process',
    'file-ssh-key',
    'file-agent-logins',
    'file-in-project',
    'file-other-project',
    'file-gateway-credentials',
    'file-by-planted-link',
    'file-by-proc-root',
    'plant-git-hook',
    'plant-git-settings',
    'system-write',
    'process-list',
    'gateway-memory',
    'gateway-environment',
    'gateway-root',
    'gateway-descriptors',
    'gateway-signal',
    'gateway-ptrace',
    'neighbour-process',
    'socket-admin',
    'socket-docker',
    'socket-ssh-agent',
    'socket-packet',
    'socket-raw',
    'mount-change',
    'become-root',
    'gain-privileges',
    'kernel-settings',
    'add-address',
    'add-interface',
    'change-routes',
    'namespace-of-the-host',
    'journal-files',
    'dns-foreign-name',
    'dns-tunnel',
    'host-not-allowed',
    'plain-http',
    'neighbour-identity',
    'git-push-main',
    'git-push-other-branch',
    'git-force-push',
    'git-delete-branch',
    'git-push-workflow',
    'git-foreign-push',
    'git-foreign-clone',
    'rest-foreign-repository',
    'rest-repository-by-number',
    'rest-merge',
    'rest-release',
    'rest-delete-repository',
    'rest-contents',
    'graphql-foreign-repository',
    'graphql-merge',
    'credential-mints-another',
    'credential-beyond-inference',
  ];
  const held = ['address-ipv4', 'dns-records', 'front-host', 'host-loopback', 'interfaces', 'neighbour-port'];

  test('by holes where it gets through, and only there', { timeout: 120_000 }, async () => {
    const results = await attackWithoutControls([...through, ...held]);
    const verdicts = [...results.values()].map(({ name, verdict, evidence }) => ({ name, verdict, evidence }));
    expect(verdicts.filter(({ name, verdict }) => through.includes(name) && verdict !== 'hole')).toEqual([]);
    expect(verdicts.filter(({ name, verdict }) => held.includes(name) && verdict !== 'held')).toEqual([]);
  });
});

test('without bubblewrap the files, processes and kernel of the host are held all the same', {
  timeout: 120_000,
}, async () => {
  const areas = ['files', 'processes', 'kernel', 'sockets', 'environment'];
  const names = attackList.filter(({ area }) => areas.includes(area)).map(({ name }) => name);
  const { out } = await redteam('--json', '--launcher', 'namespaces', '--only', ...names);
  const { attacks, launcher } = JSON.parse(out) as Report;
  expect([launcher, attacks.length]).toEqual(['namespaces', names.length]);
  const failed = attacks.filter(({ verdict, evidence }) => verdict !== 'held' && !isMissingHere(verdict, evidence));
  expect(failed.map(({ name, verdict, evidence }) => `${verdict} ${name}: ${evidence}`)).toEqual([]);
});

test('only the attacks that are asked for are made, one line each', async () => {
  const { code, out } = await redteam('--only', 'file-ssh-key', 'dns-foreign-name');
  const lines = out.trim().split('\n');
  expect(lines[0]).toMatch(/^HELD +file-ssh-key +the private key in ~\/\.ssh \(ENOENT, though it exists outside\)$/);
  expect(lines[1]).toMatch(/^HELD +dns-foreign-name .*an address of the door/);
  expect(lines.at(-1)).toMatch(/^2 attacks in a sandbox by bubblewrap: 2 held, no hole/);
  expect(code).toBe(0);
});

test('the attacks there are can be listed, and one that there is not is named', async () => {
  const listed = JSON.parse((await redteam('--list', '--json')).out) as { name: string }[];
  expect(listed.map(({ name }) => name)).toContain('file-ssh-key');
  await expect(redteam('--only', 'file-ssh-key', 'no-such-attack')).rejects.toThrow(
    'there is no attack no-such-attack',
  );
});
