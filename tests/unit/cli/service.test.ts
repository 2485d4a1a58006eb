import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findService, unitFolder, writeUnits } from '../../../src/sandbox/uninstall/uninstall-service.ts';
import { runWith } from './command-line.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-service-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const units = (): Record<string, string> =>
  writeUnits({
    command: [
      process.execPath,
      '--min-semi-space-size=8',
      join(home, 'a $HOME 100% "place"', 'main.cjs'),
      'background',
      '--service',
    ],
    stateFolder: join(home, 'state 50%'),
    adminSocket: join(home, 'state 50%', 'run', 'admin.sock'),
    path: '/usr/bin:/bin',
  });

function layUnits(): string {
  const folder = unitFolder({ env: {}, userHome: home });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(units())) writeFileSync(join(folder, name), text);
  return folder;
}

describe('sallyport service', () => {
  test.runIf(hasAnalyze)('writes units that systemd takes without a complaint', () => {
    const folder = layUnits();
    mkdirSync(join(home, 'runtime'), { mode: 0o700 });
    const env = { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: join(home, 'runtime') };
    const paths = readdirSync(folder).map((name) => join(folder, name));
    const { stderr, status } = spawnSync('systemd-analyze', ['--user', 'verify', ...paths], { env, encoding: 'utf8' });
    expect({ status, stderr: stderr.split('\n').filter((line) => line.includes('sallyport')) }).toEqual({
      status: 0,
      stderr: [],
    });
  });

  test('gives every word to systemd as it is: no specifier, no variable, no quote of ours ends early', () => {
    const service = units()['sallyport.service']!;
    expect(service).toContain('a $$HOME 100%% \\"place\\"/main.cjs" "background" "--service"');
    expect(service).toContain('state 50%%"');
    expect(units()['sallyport.socket']).toContain('SocketMode=0600');
  });

  test('says so where the user has no systemd, and writes nothing', async () => {
    const env = { HOME: home, SALLYPORT_HOME: join(home, 'state'), PATH: join(home, 'empty') };
    const { code, err } = await runWith(['service', 'install'], { env });
    expect(code).toBe(1);
    expect(err).toContain('there is no systemd for this user here: there is no systemctl');
    expect(err).toContain('sallyport up');
    expect(existsSync(join(home, '.config'))).toBe(false);
  });

  test('is taken back, by itself and by uninstall; what has our name and not our mark stays', async () => {
    const folder = layUnits();
    const place = { env: { PATH: '' }, userHome: home };
    expect(findService(place).removable.map(({ kind }) => kind)).toEqual(['service', 'service']);
    writeFileSync(join(folder, 'sallyport.socket'), '[Socket]\n');
    const { out } = await runWith(['service', 'remove'], { env: { HOME: home, PATH: '' } });
    expect(out).toContain('Removed');
    expect(readdirSync(folder)).toEqual(['sallyport.socket']);
    expect(findService(place).removable).toEqual([]);
  });
});
