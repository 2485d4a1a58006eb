import { describe, expect, test } from 'vitest';
import { checkContainerProcess } from '../../../../src/sandbox/docker/docker.ts';
import { createDockerCommand, explainDocker } from '../../../../src/sandbox/docker/docker-command.ts';
import { startFailure } from '../../../../src/sandbox/docker/docker-sandbox.ts';

describe('what docker says becomes words for the user', () => {
  test.each([
    ['Error: No such image: a:1', 'No such image: a:1', /docker pull/],
    [
      "WARNING: x\ndocker: Error response from daemon: bad mount.\nSee 'docker run --help'.",
      'docker: bad mount.',
      /docker info/,
    ],
    [
      'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?',
      'Cannot connect',
      /start the Docker/,
    ],
    ['permission denied while trying to connect to the Docker daemon socket', 'permission denied', /sudo/],
    ['docker: Error response from daemon: exec: "docker-init": not found', 'docker-init', /tini/],
    ['', 'said nothing', /docker info/],
  ])('%j', (stderr, message, hint) => {
    const error = explainDocker(stderr);
    expect(error.message).toContain(message);
    expect(error.hint).toMatch(hint);
  });

  test('a docker command that hangs is not waited for without end', () => {
    expect(explainDocker('', Object.assign(new Error('x'), { killed: true })).message).toContain('did not answer');
  });

  test('no proxy of our own environment is there for docker to copy', async () => {
    const environment = {
      PATH: process.env.PATH,
      HTTPS_PROXY: 'http://user:pass@proxy.example',
      https_proxy: 'x',
      KEPT: 'y',
    };
    const said = await createDockerCommand({ docker: 'env', environment }).run([]);
    expect(said).toContain('KEPT=y');
    expect(said).not.toMatch(/proxy/i);
  });
});

describe('a command that could not be started is told apart from one that failed', () => {
  const said =
    'Error response from daemon: failed to create shim task: OCI runtime create failed: runc create failed: ';

  test.each([
    [`${said}error mounting "/a" to rootfs at "/b": not a directory: unknown\n`, /error mounting "\/a"/],
    [`${said}exec: "/x": permission denied: unknown\nError: failed to start containers: y\n`, /permission denied/],
    [`${said}exec: "/x": permission denied: unknown\nmore of the command\n`, /^$/],
    ['a program failed\n', /^$/],
    ['', /^$/],
  ])('%j', (tail, words) => {
    expect(startFailure(tail) ?? '').toMatch(words);
  });
});

describe('only a container of this machine can have a door', () => {
  test('a number that belongs to another process here is not taken for the container', () => {
    for (const pid of [process.pid, 0, 1, -1, 4_194_305, Number.NaN])
      expect(() => checkContainerProcess(pid, 'sallyport-0123456789abcdef'), String(pid)).toThrow(
        'the Docker daemon does not run on this machine',
      );
  });
});
