import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whyNoNamespaces } from '../../../../src/sandbox/namespace/why-no-namespaces.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const refused = 'unshare: unshare failed: Operation not permitted';
const full = 'unshare: unshare failed: No space left on device';

interface Case {
  /** A setting, or another name. */
  readonly name: string;
  readonly value: string;
  readonly isRoot: boolean;
  readonly isContainer?: boolean;
  /** Default: that it was refused. */
  readonly said?: string;
  readonly message: string;
  readonly hint: string;
}

const limits = 'sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000';
const cases: readonly Case[] = [
  {
    name: 'what the kernel calls a full device',
    value: '',
    isRoot: false,
    said: full,
    message: 'it makes no more namespaces: those of other sandboxes, containers or browsers use them up',
    hint: `end some of them, or raise the limits: sudo ${limits}`,
  },
  {
    name: 'the same in a container',
    value: '',
    isRoot: true,
    isContainer: true,
    said: full,
    message: 'it makes no more namespaces',
    hint: `end some of them, or raise the limits: on the host of this container: ${limits}`,
  },
  ...['fork failed: Resource temporarily unavailable', 'fork failed: Cannot allocate memory'].map((said) => ({
    name: said,
    value: '',
    isRoot: false,
    said: `unshare: ${said}`,
    message: 'it lets you start no more processes, or has no memory for them',
    hint: 'end some, or raise the limit: ulimit -u, and the limits of processes and memory',
  })),
  ...['Invalid argument', 'Function not implemented'].map((said) => ({
    name: said,
    value: '',
    isRoot: false,
    said: `unshare: unshare failed: ${said}`,
    message: 'its kernel has no user namespaces (CONFIG_USER_NS), or none inside of this one',
    hint: 'start another kernel, or let Docker make the sandbox: sallyport run --image IMAGE',
  })),
  // As it looks on Ubuntu 24.04: the namespace is made, and nothing may be done in it.
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    value: '1',
    isRoot: false,
    isContainer: true,
    said: 'unshare: write failed /proc/self/uid_map: Operation not permitted',
    message: 'AppArmor keeps ordinary users from it (kernel.apparmor_restrict_unprivileged_userns is 1)',
    hint: 'on the host of this container: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
  {
    name: 'user.max_user_namespaces',
    value: '0',
    isRoot: false,
    message: 'user namespaces are off (user.max_user_namespaces is 0)',
    hint: 'sudo sysctl -w user.max_user_namespaces=15000 (to keep it: echo user.max_user_namespaces=15000 | sudo tee ',
  },
  {
    name: 'user.max_user_namespaces',
    value: '0',
    isRoot: true,
    message: 'user namespaces are off (user.max_user_namespaces is 0)',
    hint: 'sysctl -w user.max_user_namespaces=15000',
  },
  {
    name: 'kernel.unprivileged_userns_clone',
    value: '0',
    isRoot: false,
    message: 'user namespaces are for root alone (kernel.unprivileged_userns_clone is 0)',
    hint: 'sudo sysctl -w kernel.unprivileged_userns_clone=1',
  },
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    value: '1',
    isRoot: false,
    message: 'AppArmor keeps ordinary users from it (kernel.apparmor_restrict_unprivileged_userns is 1)',
    hint: 'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
  {
    name: 'a container',
    value: '',
    isRoot: true,
    isContainer: true,
    message: 'it is a container, and the way it was started forbids namespaces in it',
    hint: 'start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined',
  },
  {
    name: 'nothing that is known',
    value: '',
    isRoot: false,
    message: refused,
    hint: 'user, network, process and mount namespaces must be allowed',
  },
];

function explain({ name, value, isRoot, isContainer = false, said = refused }: Case) {
  const setting = (asked: string) => (asked === name ? value : null);
  return whyNoNamespaces(`${said}\n`, { setting, isRoot, isContainer });
}

test.each(cases)('$name in the way (as root: $isRoot) is a sentence and one command', (each) => {
  const error = explain(each);
  expect(error.message).toContain(`this machine does not let you make a sandbox: ${each.message}`);
  expect(error.hint.slice(0, each.hint.length)).toBe(each.hint);
});

test('settings that concern ordinary users are not what stops root', () => {
  const setting = (name: string) =>
    name === 'user.max_user_namespaces' ? '1000' : name.includes('apparmor') ? '1' : '0';
  expect(whyNoNamespaces('', { setting, isRoot: true, isContainer: false }).message).toMatch(/did not say why$/);
});

test('what unshare says is asked for in the language that is looked for', () => {
  expect(readFileSync(join(root, 'scripts/prepare.sh'), 'utf8')).toContain('said="$(LC_ALL=C unshare ');
});

describe('./sallyport, before it has installed anything,', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-settings-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(cases)('says the same of $name (as root: $isRoot)', (each) => {
    const { name, value, isRoot, isContainer = false, said = refused } = each;
    const settings = join(folder, `${name}-${isRoot}-${isContainer}`);
    const file = join(settings, name.replaceAll('.', '/'));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${value}\n`);
    const script = [
      `root=${root}; . ${root}scripts/prepare.sh`,
      'kernel_settings="$1"; container_marks=/nonexistent; [ "$2" != container ] || container_marks=/proc/version',
      'id() { echo "$who"; }; who="$3"; why_no_namespaces "$4"',
    ].join('\n');
    const marks = isContainer ? 'container' : 'none';
    const words = ['-c', script, 'bash', settings, marks, isRoot ? '0' : '1000', said];
    const { message, hint } = explain(each);
    expect(execFileSync('bash', words, { encoding: 'utf8' })).toBe(`${message}\n${hint}\n`);
  });
});
