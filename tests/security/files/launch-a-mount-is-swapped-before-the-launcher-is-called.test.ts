// Between the judgement of what a sandbox is given and the call of its launcher lies a registration, and with it time: a folder
// that is exchanged then, for another and not for a link, is not the one that was searched for credentials.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBubblewrapLauncher } from '../../../src/sandbox/namespace/bubblewrap.ts';
import { type SandboxRegistrar, startSandbox } from '../../../src/sandbox/run/start-sandbox.ts';
import { makeTestCa } from '../../support/test-ca.ts';

const ca = makeTestCa();
let top: string;
const at = (path: string) => join(top, path);

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-early-')));
  for (const [name, content] of [
    ['home/project/README', 'harmless'],
    ['home/data/open/file', 'of the project'],
    ['home/data/other/file', 'the secret of the host'],
  ] as const) {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), content);
  }
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const registrar: SandboxRegistrar = {
  guarded: async () => ({ keep: [], hide: [] }),
  register: async () => ({
    id: 'one',
    caCertificate: readFileSync(ca.path, 'utf8'),
    proxyUrl: 'http://127.0.0.1:3128',
    gitHosts: [],
    credentials: [],
    logins: [],
    hostPorts: [],
    plainHosts: [],
  }),
  renew: async () => {},
  unregister: async () => {},
};

/** `meanwhile` is done when everything is in order, and the launcher is about to be called. */
async function start(meanwhile: () => void): Promise<string> {
  const running = await startSandbox(
    {
      launcher: createBubblewrapLauncher(),
      command: ['cat', '/mnt/it/file'],
      stdio: 'piped',
      registration: { id: 'one' },
      workingDirectory: at('home/project'),
      environment: { PATH: '/usr/bin:/bin', HOME: at('home') },
      userHome: at('home'),
      stateFolder: at('state'),
      runFolders: at('state/sandboxes'),
      persistentHome: null,
      mounts: [{ mode: 'read-write', source: at('home/data/open'), target: '/mnt/it' }],
      variables: [],
      hideEnvFiles: false,
      gitConfig: 'read-only',
      onReady: meanwhile,
    },
    Promise.resolve(registrar),
  );
  const { stdin, stdout, stderr } = running.streams!;
  stdin.end();
  stderr.resume();
  const [output] = await Promise.all([text(stdout), running.ended]);
  return output;
}

test('another folder in its place is not mounted', async () => {
  const swap = () => {
    renameSync(at('home/data/open'), at('home/data/aside'));
    renameSync(at('home/data/other'), at('home/data/open'));
  };
  const came = await start(swap).catch((error: Error) => error);
  expect(came).toMatchObject({
    name: 'LaunchError',
    message: expect.stringMatching(/^what was to be mounted at \/mnt\/it changed after it was checked/),
  });
});

test('what is written into it meanwhile does not matter', async () => {
  expect(await start(() => writeFileSync(at('home/data/open/more'), ''))).toBe('of the project');
});
