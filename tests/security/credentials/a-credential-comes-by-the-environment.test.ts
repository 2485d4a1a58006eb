import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refuseCredentialVariables } from '../../../src/cli/steps/up-options.ts';
import { LivePolicy } from '../../../src/policy/load/live-policy.ts';
import { thisMachine } from '../../../src/policy/load/machine-files.ts';

const plain = 'version: 1\nallow: [{host: api.example.com}]\n';
const fromEnvironment = `${plain}credentials: {mine: {hosts: [api.example.com], inject: {bearer: true}, source: {env: MY_TOKEN, i_accept_environment: true}}}\n`;

describe('a gateway that refuses credentials in its environment', () => {
  let folder: string;
  let file: string;
  const open = (env: Record<string, string>): Promise<LivePolicy> =>
    LivePolicy.open(file, thisMachine(), ({ credentials }) => refuseCredentialVariables(env, credentials));

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-env-'));
    file = join(folder, 'sallyport.yaml');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('does not start with a configuration that takes one from there, and names the variable', async () => {
    writeFileSync(file, fromEnvironment);
    await expect(open({})).rejects.toThrow('mine (source env MY_TOKEN)');
  });

  test('does not start with one in its environment, and does not show it', async () => {
    writeFileSync(file, plain);
    const error: Error = await open({ GITHUB_TOKEN: 'ghp_not-to-be-seen' }).then(
      () => new Error('it started'),
      (failure: Error) => failure,
    );
    expect(error.message).toContain('GITHUB_TOKEN');
    expect(error.message).not.toContain('not-to-be-seen');
  });

  test('does not take one over with a changed file: the old one stays in force, and the reason is kept', async () => {
    writeFileSync(file, plain);
    const live = await open({});
    const before = live.current;
    writeFileSync(file, fromEnvironment);
    await expect(live.reload()).rejects.toThrow('mine (source env MY_TOKEN)');
    expect(live.current).toBe(before);
    expect(live.rejected?.message).toContain('MY_TOKEN');
    writeFileSync(file, plain);
    await live.reload();
    expect(live.rejected).toBeNull();
  });
});
