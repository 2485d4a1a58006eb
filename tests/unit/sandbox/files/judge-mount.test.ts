import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HostFiles, hostFiles } from '../../../../src/sandbox/files/host-files.ts';
import { judgeMount } from '../../../../src/sandbox/files/judge-mount.ts';
import { surveyDangers } from '../../../../src/sandbox/files/survey-dangers.ts';
import { type MountGround, makeMountGround } from '../../../support/mount-ground.ts';

let ground: MountGround;
beforeAll(() => {
  ground = makeMountGround();
});
afterAll(() => ground.remove());

function judge(source: string, environment: Record<string, string> = {}) {
  const facts = { home: ground.home, uid: 0, stateFolder: ground.state, environment, hide: [] };
  return judgeMount(source, surveyDangers(facts, hostFiles), hostFiles);
}

function reasonFor(source: string, environment: Record<string, string> = {}): string {
  const judged = judge(source, environment);
  return judged.refused === null ? 'let in' : judged.refused.reason;
}

describe('what may be mounted', () => {
  test('a project is let in as it is', () => {
    expect(judge(ground.project)).toEqual({ refused: null, source: ground.project, kind: 'folder', masks: [] });
  });

  test('a link is let in as the thing it leads to', () => {
    const link = ground.link('way', ground.project);
    expect(judge(link)).toMatchObject({ refused: null, source: ground.project });
  });

  test('a refusal names what was asked for, the rule and what to do', () => {
    ground.file('home/dev/.ssh/id_ed25519');
    const judged = judge(`${ground.home}/.ssh/id_ed25519`);
    expect(judged.refused).toEqual({
      reason: `${ground.home}/.ssh/id_ed25519 lies in ${ground.home}/.ssh: ssh keys and agents, which no sandbox gets`,
      hint: expect.stringContaining('credentials'),
    });
  });

  test('a folder around something dangerous is let in with that masked, each once and the outermost', () => {
    ground.file('home/dev/.config/gh/hosts.yml');
    ground.file('home/dev/.config/gcloud/credentials.db');
    ground.file('home/dev/.config/harmless/settings');
    const judged = judge(`${ground.home}/.config`);
    expect(judged.refused).toBeNull();
    const masks = judged.refused === null ? judged.masks.map(({ real }) => real) : [];
    expect(masks.sort()).toEqual([`${ground.home}/.config/gcloud`, `${ground.home}/.config/gh`]);
  });

  test('something dangerous that is a link is masked where it leads', () => {
    ground.folder('home/dev/dotfiles/aws');
    ground.link('home/dev/.aws', `${ground.home}/dotfiles/aws`);
    expect(judge(`${ground.home}/dotfiles`)).toMatchObject({ masks: [{ real: `${ground.home}/dotfiles/aws` }] });
    expect(reasonFor(`${ground.home}/dotfiles/aws`)).toMatch(/cloud credentials/);
  });

  test('the places a variable names count, alone or in a list or an address', () => {
    const kube = ground.file('elsewhere/cluster.yaml');
    const docker = ground.folder('elsewhere/run');
    expect(reasonFor(kube)).toBe('let in');
    expect(reasonFor(kube, { KUBECONFIG: `/nowhere:${kube}` })).toMatch(/cluster credentials/);
    expect(reasonFor(docker, { DOCKER_HOST: `unix://${docker}` })).toMatch(/a container runtime/);
    expect(reasonFor(kube, { SOME_API_KEY_FILE: kube })).toMatch(/a credential that a variable names/);
  });

  test('a variable that names a folder for everything does not close it', () => {
    expect(reasonFor(ground.project, { XDG_RUNTIME_DIR: '/tmp', CODEX_HOME: ground.home })).toBe('let in');
  });

  test('a second name for something dangerous, mounted on the host, is known by what it is', () => {
    const keys = ground.folder('home/dev/.ssh');
    const alias = ground.folder('alias/deep');
    const identity = hostFiles.look(keys)!.identity;
    // As a bind mount makes it: another path, the same device and inode.
    const files: HostFiles = {
      ...hostFiles,
      look: (path) =>
        path === `${ground.top}/alias` ? { kind: 'folder', mode: 0o755, identity } : hostFiles.look(path),
    };
    const facts = { home: ground.home, uid: 0, stateFolder: ground.state, environment: {}, hide: [] };
    const survey = surveyDangers(facts, hostFiles);
    expect(judgeMount(alias, survey, hostFiles).refused).toBeNull();
    expect(judgeMount(alias, survey, files).refused?.reason).toMatch(/ssh keys/);
  });

  test('a program in the folder of an agent is let in, its login beside it is not', () => {
    const program = ground.folder('home/dev/.claude/local');
    ground.file('home/dev/.claude/.credentials.json');
    expect(reasonFor(program)).toBe('let in');
    expect(reasonFor(`${ground.home}/.claude/.credentials.json`)).toMatch(/an agent's own login/);
  });

  test.each([
    ['/', /contains a home folder/],
    ['/var/tmp', /keeps sockets/],
    ['/proc/self', /processes of the host/],
    ['/sys/class', /kernel and devices/],
    ['/dev/null', /a device/],
    ['/run', /sockets and state/],
    ['/etc/shadow', /passwords and keys/],
    ['/nowhere/at/all', /does not exist/],
    ['relative', /not an absolute path/],
  ])('%s is refused', (source, reason) => {
    expect(reasonFor(source)).toMatch(reason);
  });

  test('the home, what is around it, and the state of the gateway are refused', () => {
    expect(reasonFor(ground.home)).toMatch(/is a home folder/);
    expect(reasonFor(`${ground.top}/home`)).toMatch(/contains a home folder/);
    expect(reasonFor(`${ground.state}/sandboxes`)).toMatch(/state and configuration of Sallyport/);
  });
});
