import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import {
  addUpOptions,
  listenOf,
  refuseCredentialVariables,
  type UpOptions,
} from '../../../../src/cli/steps/up-options.ts';
import { CommandFailed } from '../../../../src/cli/terminal/exit-code.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const parse = (...words: string[]): UpOptions =>
  addUpOptions(new Command('up')).exitOverride().parse(words, { from: 'user' }).opts<UpOptions>();

describe('doors named on the command line', () => {
  test('stand in for those of the file, each kind by itself, and may be repeated', async () => {
    const options = parse(
      '--listen-proxy',
      '172.30.0.0/24:8080',
      '--listen-proxy',
      '[::1]:8081',
      '--listen-gateway',
      '172.30.0.2',
    );
    expect(await listenOf(options)).toEqual({
      proxy: [
        { host: '172.30.0.0/24', port: 8080 },
        { host: '::1', port: 8081 },
      ],
      gateway: ['172.30.0.2'],
    });
    expect(await listenOf(parse('--listen-mtls', '0.0.0.0:8443'))).toEqual({ mtls: [{ host: '0.0.0.0', port: 8443 }] });
  });

  test('without any, the file is asked', async () => {
    expect(await listenOf(parse('--publish', '/handover'))).toBeNull();
  });

  test.each([
    ['--listen-proxy', 'gateway:8080'],
    ['--listen-mtls', '0.0.0.0'],
    ['--listen-gateway', '172.30.0.2:53'],
  ])('%s %s is an error that says what to write', async (flag, text) => {
    await expect(listenOf(parse(flag, text))).rejects.toThrow(new RegExp(`^${flag} ${text}: write an address`));
  });
});

describe('--refuse-credential-variables', () => {
  const secret = 'ghp_0123456789abcdefghij';
  const none = handMadePolicy({}).credentials;

  test('names every variable that holds a credential, by its name or by its value, and shows no value', () => {
    const env = { PATH: '/bin', GITHUB_TOKEN: secret, INNOCENT: secret, EMPTY_TOKEN: '', NODE_VERSION: '22' };
    const failed = failureOf(() => refuseCredentialVariables(env, none));
    expect(failed.message).toContain('looks like credentials: GITHUB_TOKEN, INNOCENT.');
    expect(failed.message + failed.hint).not.toContain(secret);
    expect(failed.hint).toContain('/run/secrets/NAME');
    expect(failed.exitCode).toBe(2);
  });

  test('refuses a configuration that takes credentials from the environment', () => {
    const [found] = handMadePolicy({
      credentials: [{ name: 'mine', hosts: ['api.example.com'] }],
    }).credentials.values();
    const credentials = new Map([['mine', { ...found!, source: { kind: 'environment', variable: 'MINE' } as const }]]);
    expect(failureOf(() => refuseCredentialVariables({}, credentials)).message).toContain('mine (source env MINE)');
  });

  test('lets an ordinary environment and other sources pass', () => {
    const env = {
      PATH: '/bin',
      HOME: '/',
      HOSTNAME: 'a',
      NODE_ENV: 'production',
      SALLYPORT_HOME: '/var/lib/sallyport',
    };
    expect(refuseCredentialVariables(env, none)).toBeUndefined();
  });
});

function failureOf(run: () => void): CommandFailed {
  try {
    run();
  } catch (error) {
    if (error instanceof CommandFailed) return error;
  }
  throw new Error('it was not refused');
}
