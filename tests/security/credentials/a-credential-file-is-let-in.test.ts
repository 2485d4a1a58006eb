// Every place of the blocklist, one by one: asked for by its name, through a link, from inside and from around.
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dangerousThings } from '../../../src/sandbox/files/dangerous-paths.ts';
import { hostFiles } from '../../../src/sandbox/files/host-files.ts';
import { judgeMount } from '../../../src/sandbox/files/judge-mount.ts';
import { type DangerSurvey, surveyDangers } from '../../../src/sandbox/files/survey-dangers.ts';
import { parseMount } from '../../../src/sandbox/files/user-mounts.ts';
import { type MountGround, makeMountGround } from '../../support/mount-ground.ts';

const places = dangerousThings.flatMap(({ rule, paths }) =>
  paths.filter((path) => path.startsWith('~/')).map((path) => ({ rule, path: path.replaceAll('*', 'x') })),
);

let ground: MountGround;
let survey: DangerSurvey;
beforeAll(() => {
  ground = makeMountGround();
  for (const { path } of places) ground.file(`${path.replace('~', ground.home)}/inside`);
  ground.folder('home/dev/.config/harmless');
  const facts = { home: ground.home, uid: 0, stateFolder: ground.state, environment: {}, hide: [] };
  survey = surveyDangers(facts, hostFiles);
});
afterAll(() => ground.remove());

describe('no mount lets it in', () => {
  test('the blocklist has all the kinds of things that must stay outside', () => {
    const names = [
      ...['.ssh', '.gnupg', '.aws', '.kube', '.netrc', '.npmrc', '.config/gh', '.git-credentials', '.claude.jsonx'],
      ...['.codex', '.gemini', '.local/share/opencode', '.local/share/keyrings', '.mozilla', '.docker/config.json'],
      ...['.config/pip', '.cargo/credentialsx', '.config/sallyport', '.local/state/sallyport', '.password-store'],
    ];
    const known = places.map(({ path }) => path);
    for (const name of names) expect(known).toContain(`~/${name}`);
    expect(places.length).toBeGreaterThan(150);
  });

  test.each(places)('$path', ({ rule, path }) => {
    const real = path.replace('~', ground.home);
    const link = ground.link(`links/${path.replaceAll('/', '-')}`, real);
    for (const source of [real, `${real}/inside`, link, `${link}/inside`]) {
      const { refused } = judgeMount(source, survey, hostFiles);
      expect(refused?.reason).toContain(`${rule}, which no sandbox gets`);
    }
    const around = judgeMount(dirname(real), survey, hostFiles);
    if (around.refused === null) expect(around.masks.map((mask) => mask.real)).toContain(real);
    else expect(around.refused.reason).toMatch(/home folder|which no sandbox gets/);
  });

  test('while a harmless folder beside them is let in', () => {
    expect(judgeMount(`${ground.home}/.config/harmless`, survey, hostFiles)).toMatchObject({
      refused: null,
      masks: [],
    });
  });
});

describe('by the options of the command', () => {
  const mount = (source: string) => ({
    asked: [parseMount(`${source}:/mnt/it`, 'read-only', { cwd: '/', home: ground.home })],
  });

  test('a key is refused by name and through a link', () => {
    expect(() => ground.plan(mount('~/.ssh'))).toThrow(/ssh keys/);
    expect(() => ground.plan(mount(ground.link('way-to-ssh', `${ground.home}/.ssh`)))).toThrow(/ssh keys/);
  });

  test('a socket is refused, whatever it is called', async () => {
    const socket = await ground.socket('harmless-name');
    expect(() => ground.plan(mount(socket))).toThrow(/a Unix socket/);
    expect(() => ground.plan(mount(ground.link('way-to-socket', socket)))).toThrow(/a Unix socket/);
  });
});
