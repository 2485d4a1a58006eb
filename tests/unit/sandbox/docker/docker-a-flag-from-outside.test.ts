// Names, paths, values and commands come from users and plans. None of them may become a flag of docker or a second setting
// of one: `--privileged` as an image, a comma in a path, a colon in a folder.
import { describe, expect, test } from 'vitest';
import { createDockerLauncher } from '../../../../src/sandbox/docker/docker.ts';
import { type CreateOptions, dockerCreateArguments } from '../../../../src/sandbox/docker/docker-arguments.ts';
import type { Mount, SandboxPlan } from '../../../../src/sandbox/run/sandbox-plan.ts';

const options: CreateOptions = {
  name: 'sallyport-0-command',
  holder: 'sallyport-0',
  image: 'tools:1',
  labels: [],
  user: '0:0',
  terminal: false,
  seccompFile: '/x/seccomp.json',
  mountPoints: [],
};

function build(plan: Partial<SandboxPlan>, image = 'tools:1'): readonly string[] {
  const whole = { id: 'one', command: ['sh'], workingDirectory: '/', environment: {}, mounts: [], ...plan };
  return dockerCreateArguments(whole, { ...options, image });
}

function mounted(...mounts: Mount[]): readonly string[] {
  const args = build({ mounts });
  return args.flatMap((arg, at) => (args[at - 1] === '--mount' || args[at - 1] === '--tmpfs' ? [arg] : []));
}

describe('nothing that is said becomes a flag', () => {
  test('an image is a name and nothing else', () => {
    for (const image of ['--privileged', '-v/:/host', '', 'a b', 'tools:1\n--privileged', '$(id)', './x', ' tools:1'])
      expect(() => createDockerLauncher({ image, environment: {} }), image).toThrow(/is not the name of an image/);
    for (const image of ['tools', 'tools:1', 'registry.example:5000/a/b@sha256:0123', '0123abcdef'])
      expect(build({}, image)).toContain(image);
  });

  test('the command stands behind the image, where docker reads no flag', () => {
    const args = build({ command: ['--privileged', '--cap-add', 'ALL'] });
    expect(args.slice(-6)).toEqual(['--entrypoint', '--privileged', '--', 'tools:1', '--cap-add', 'ALL']);
  });

  test('a path stays one field, whatever is in it', () => {
    const odd = '/a,readonly=false,"x"\ny:z';
    expect(mounted({ kind: 'read-only', source: odd, target: odd })).toEqual([
      'type=bind,"source=/a,readonly=false,""x""\ny:z","target=/a,readonly=false,""x""\ny:z",readonly',
    ]);
    expect(() => mounted({ kind: 'empty', target: '/tmp:suid,dev' })).toThrow(/colon/);
  });

  test('a variable stays one variable', () => {
    expect(build({ environment: { A: 'x --privileged\nB=y' } })).toContain('A=x --privileged\nB=y');
    for (const name of ['', 'A=B', 'A\0'])
      expect(() => build({ environment: { [name]: 'x' } }), name).toThrow(/cannot be set/);
  });

  test('every sandbox is told the same about privileges, and of no device, port or other network', () => {
    const args = build({ command: ['sh'], mounts: [{ kind: 'empty', target: '/tmp' }], environment: { A: 'b' } });
    const said = args.join(' ');
    for (const flags of [
      '--cap-drop ALL',
      '--security-opt no-new-privileges',
      '--security-opt seccomp=/x/seccomp.json',
      '--network container:sallyport-0',
      '--pid container:sallyport-0',
      '--pull never',
    ])
      expect(said).toContain(flags);
    const never = /--(?:privileged|cap-add|device|publish|volume|add-host|gpus|userns|ipc|uts|cgroupns|runtime|link)\b/;
    expect(said).not.toMatch(never);
  });
});
