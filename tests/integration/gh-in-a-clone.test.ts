import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectDone, type GhGround, openGhGround } from '../support/fake-github-ground.ts';
import { openGitSandbox } from '../support/git-sandbox.ts';

let ground: GhGround;
let cwd: string;

beforeAll(async () => {
  ground = await openGhGround();
  await expectDone(ground, ['repo', 'clone', 'acme/widgets', 'cloned']);
  cwd = join(ground.folder, 'cloned');
});

afterAll(() => ground.stop());

const gh = (...args: string[]): Promise<string> => expectDone(ground, args, { cwd });

describe('gh and git work together in a clone', () => {
  test('a branch is pushed by git and becomes a pull request by gh, which finds the repository by itself', async () => {
    const sandbox = openGitSandbox(ground.gateway);
    const clone = await sandbox.clone('https://github.com/acme/widgets.git');
    await clone.git('switch', '--quiet', '--create', 'sandbox/feature');
    const tip = await clone.commit({ branch: 'sandbox/feature', parents: ['main'], files: { feature: 'f\n' } });
    await clone.git('push', '--quiet', '--set-upstream', 'origin', 'sandbox/feature');
    expect(await ground.bare.tip('sandbox/feature')).toBe(tip);
    const printed = await expectDone(ground, ['pr', 'create', '--title', 'A feature', '--body', 'Done'], {
      cwd: clone.folder,
    });
    expect(printed).toContain('https://github.com/acme/widgets/pull/');
    expect(ground.github.state.find('acme', 'widgets')!.items.at(-1)).toMatchObject({ head: 'sandbox/feature' });
    expect(await expectDone(ground, ['pr', 'status'], { cwd: clone.folder })).toContain('A feature');
    sandbox.remove();
  });

  test('pr checkout fetches the branch of a pull request', async () => {
    expect(await gh('pr', 'checkout', '2')).toContain("Switched to a new branch 'sandbox/grease'");
  });

  test('api fills in the owner and the name', async () => {
    expect(await gh('api', 'repos/{owner}/{repo}', '--jq', '.full_name')).toBe('acme/widgets\n');
  });
});
