// No way to name a variable brings a credential of the host, or an address behind which something of the host listens, into
// the environment of a sandbox.
import { describe, expect, test } from 'vitest';
import { type EnvironmentOptions, planEnvironment } from '../../../../src/sandbox/stubs/sandbox-variables.ts';

const secret = 'S3CRET-value-of-the-host';

function plan(from: EnvironmentOptions['from'], extra: readonly string[] = []) {
  const none = { placeholders: {}, trust: {}, git: {}, path: ['/usr/bin'], home: '/home/dev', user: 'dev' };
  return planEnvironment({ from, extra, ...none }).variables;
}

describe('a credential of the host', () => {
  const names = ['ANTHROPIC_API_KEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'DB_PASSWORD', 'MY_SECRET', 'NPM_TOKEN'];

  test('is not there by itself', () => {
    const from = Object.fromEntries(names.map((name) => [name, secret]));
    expect(JSON.stringify(plan({ ...from, TERM: 'xterm' }))).not.toContain(secret);
  });

  test.each(names)('%s is not copied by name, however short, and the user hears where it belongs', (name) => {
    for (const value of [secret, 'abc']) {
      expect(() => plan({ [name]: value }, [name])).toThrow(/by its name it is a credential/);
      expect(() => plan({ [name]: value }, [name])).toThrow(
        expect.objectContaining({ hint: expect.stringMatching(/credentials/) }),
      );
    }
  });

  test.each(['HARMLESS', 'WRAPPED'])('is not given under another name (%s)', (name) => {
    const value = name === 'WRAPPED' ? `https://host.example/?key=${secret}` : secret;
    expect(() => plan({ GITHUB_TOKEN: secret }, [`${name}=${value}`])).toThrow(/is that of GITHUB_TOKEN/);
    expect(() => plan({ GITHUB_TOKEN: secret, [name]: value }, [name])).toThrow(/is that of GITHUB_TOKEN/);
  });

  test('is not copied in a variable that is copied by itself', () => {
    expect(plan({ GITHUB_TOKEN: secret, TERM_PROGRAM: secret, EDITOR: `vi ${secret}` })).not.toHaveProperty(
      'TERM_PROGRAM',
    );
    expect(JSON.stringify(plan({ GITHUB_TOKEN: secret, EDITOR: `vi ${secret}` }))).not.toContain(secret);
  });

  test('is known by its shape when the name says nothing', () => {
    for (const value of ['ghp_0123456789abcdefghij0123', 'https://me:word@host.example/simple'])
      expect(() => plan({ PLAIN: value }, ['PLAIN'])).toThrow(/looks like a credential/);
  });

  test('a message never shows the value', () => {
    let said = '';
    try {
      plan({ GITHUB_TOKEN: secret }, [`X=${secret}`]);
    } catch (error) {
      said = `${(error as Error).message} ${(error as { hint?: string }).hint}`;
    }
    expect(said).toContain('GITHUB_TOKEN');
    expect(said).not.toContain(secret);
  });
});

describe('a way around the door', () => {
  const ways = {
    ...{
      HTTPS_PROXY: 'http://proxy.example:3128',
      https_proxy: 'http://proxy.example:3128',
      SSH_AUTH_SOCK: '/run/agent',
    },
    ...{
      DOCKER_HOST: 'unix:///run/docker.sock',
      DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/bus',
      KUBECONFIG: '/root/.kube/config',
    },
    ...{ XDG_RUNTIME_DIR: '/run/user/0', DISPLAY: ':0', SALLYPORT_HOME: '/root/.local/state/sallyport' },
  };

  test('is not there by itself, nor are variables that load code of the host', () => {
    const loading = {
      LD_PRELOAD: '/evil.so',
      LD_LIBRARY_PATH: '/evil',
      NODE_OPTIONS: '--require /evil.js',
      PYTHONPATH: '/evil',
      BASH_ENV: '/evil',
    };
    const variables = plan({ ...ways, ...loading });
    for (const name of [...Object.keys(ways), ...Object.keys(loading)]) expect(variables).not.toHaveProperty(name);
  });

  test.each(Object.entries(ways))('%s is not copied by name', (name, value) => {
    expect(() => plan({ [name]: value }, [name])).toThrow(/points to something on this host/);
  });
});
