import { describe, expect, test } from 'vitest';
import { type RequestedSandbox, requestSandbox } from '../../../../src/sandbox/run/request-sandbox.ts';

const requested = (state: string, workingDirectory: string): RequestedSandbox => ({
  command: ['true'],
  stdio: 'piped',
  registration: {},
  workingDirectory,
  environment: { HOME: '/home/me' },
  mounts: [],
  variables: [],
  hideEnvFiles: false,
  ownPath: '/usr/bin:/bin',
  places: {
    home: state,
    sandboxFolders: `${state}/sandboxes`,
    projectHomes: `${state}/homes`,
    sharedHome: `${state}/home`,
    projectCaches: '/state/caches',
  },
  keepHome: false,
});

describe('the state of the gateway stays out of what a sandbox gets', () => {
  test('below the working directory it is refused in words that say what to set', async () => {
    await expect(requestSandbox(requested('/srv/project/.state', '/srv/project'))).rejects.toMatchObject({
      name: 'LaunchError',
      message: expect.stringContaining(
        'would get /srv/project, and the state of Sallyport is in it (/srv/project/.state)',
      ),
      hint: expect.stringContaining('SALLYPORT_HOME'),
    });
  });

  test.each([
    ['/srv/project-state', '/srv/project'],
    ['/home/me/.local/state/sallyport', '/home/me/project'],
  ])('%s beside %s is not in its way', async (state, folder) => {
    expect((await requestSandbox(requested(state, folder))).stateFolder).toBe(state);
  });
});
