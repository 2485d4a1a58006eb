import { describe, expect, test } from 'vitest';
import { isWell } from '../../../../src/prove/doctor/finding.ts';
import { judgeMachine, type MachineFacts } from '../../../../src/prove/doctor/judge-machine.ts';

const tools = ['bwrap', 'unshare', 'nsenter', 'setpriv', 'git'].map((name) => ({
  name,
  file: `/usr/bin/${name}`,
  version: '1.0',
}));
const healthy: MachineFacts = {
  nodeVersion: '20.19.0',
  architecture: 'x64',
  isRoot: false,
  isContainer: false,
  tools,
  namespaces: { made: true, said: '' },
  settings: new Map(),
  hasSeccomp: true,
  hasIpv6: true,
  docker: { state: 'absent' },
};

function find(facts: Partial<MachineFacts>, name: string) {
  return judgeMachine({ ...healthy, ...facts }).find((finding) => finding.name === name)!;
}

describe('what the machine lacks is said with its fix', () => {
  test('a machine that has everything is well, and Docker that is not there does not count', () => {
    const findings = judgeMachine(healthy);
    expect(isWell(findings)).toBe(true);
    expect(find({}, 'docker').state).toBe('absent');
  });

  test.each([
    ['user.max_user_namespaces', '0', 'user.max_user_namespaces=15000'],
    ['kernel.unprivileged_userns_clone', '0', 'kernel.unprivileged_userns_clone=1'],
    ['kernel.apparmor_restrict_unprivileged_userns', '1', 'kernel.apparmor_restrict_unprivileged_userns=0'],
  ])('no namespaces because of %s=%s: the setting is named', (setting, value, fix) => {
    const namespaces = { made: false, said: 'unshare: unshare failed: Operation not permitted' };
    const finding = find({ namespaces, settings: new Map([[setting, value]]) }, 'namespaces');
    expect(finding.state).toBe('fail');
    expect(finding.says).toContain(`(${setting} is ${value})`);
    expect(finding.fix).toContain(fix);
  });

  test('a program that is missing is named with its package', () => {
    const without = (missing: string) =>
      tools.map((tool) => (tool.name === missing ? { name: missing, file: null, version: null } : tool));
    // Not needed: the other launcher takes its place.
    expect(find({ tools: without('bwrap') }, 'bwrap')).toMatchObject({
      state: 'warn',
      says: 'not installed: sandboxes are made without it (--launcher namespaces)',
      fix: expect.stringContaining('install'),
    });
    expect(find({ tools: without('nsenter') }, 'nsenter').fix).toContain('util-linux');
    expect(find({ tools: without('git') }, 'git').state).toBe('warn');
  });

  test.each([
    ['20.18.9', 'fail'],
    ['18.20.0', 'fail'],
    ['20.19.0', 'ok'],
    ['22.0.0', 'ok'],
  ])('Node %s: %s', (nodeVersion, state) => {
    expect(find({ nodeVersion }, 'node').state).toBe(state);
  });

  test('a kernel without a filter for system calls fails', () => {
    expect(find({ hasSeccomp: false }, 'seccomp').state).toBe('fail');
  });
});

describe('Docker is reachable, and can its network be entered', () => {
  const docker = {
    state: 'reachable',
    version: '28.0',
    system: 'Debian GNU/Linux',
    isRootless: false,
    isElsewhere: false,
  } as const;

  test('by root, and by the user of a rootless daemon', () => {
    expect(find({ docker, isRoot: true }, 'docker').state).toBe('ok');
    expect(find({ docker: { ...docker, isRootless: true } }, 'docker').state).toBe('ok');
  });

  test('not by an ordinary user of the daemon of root, nor on another machine', () => {
    expect(find({ docker }, 'docker')).toMatchObject({ state: 'warn', fix: expect.stringContaining('sudo') });
    for (const far of [{ isElsewhere: true }, { system: 'Docker Desktop' }]) {
      const finding = find({ docker: { ...docker, ...far }, isRoot: true }, 'docker');
      expect(finding).toMatchObject({ state: 'warn', fix: expect.stringContaining('on this machine') });
    }
  });

  test('a daemon that does not answer is a warning with its words', () => {
    const unreachable = { state: 'unreachable', message: 'no daemon', hint: 'start it' } as const;
    expect(find({ docker: unreachable }, 'docker')).toMatchObject({
      state: 'warn',
      says: 'no daemon',
      fix: 'start it',
    });
  });
});
