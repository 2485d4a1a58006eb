import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  clearSuspects,
  findSuspect,
  noteRunningWriter,
  type RunningWriter,
} from '../../../../src/sandbox/traps/running-writers.ts';
import { approveConfig, doubtOf, noteWrittenFolders } from '../../../../src/sandbox/traps/written-folders.ts';

let base: string;
let state: string;
let project: string;
let config: string;
let running: RunningWriter | null;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-writers-')));
  state = join(base, 'state');
  project = join(base, 'project');
  config = join(project, 'sallyport.yaml');
  mkdirSync(project);
  writeFileSync(config, 'version: 1\n');
  running = null;
});

afterEach(() => {
  running?.end();
  rmSync(base, { recursive: true });
});

function start(guarded: readonly string[] = [config], seesAll = false): RunningWriter {
  running = noteRunningWriter(state, { sandbox: 'sbx_a', folders: [project], seesAll });
  running.keepFrom(guarded);
  return running;
}

/** As an editor saves. */
function replace(file = config): void {
  writeFileSync(join(base, 'new'), 'version: 1\nallow: []\n');
  renameSync(join(base, 'new'), file);
}

/** As if whoever started it had been killed. */
function kill(): void {
  const folder = join(state, 'written', 'running');
  for (const name of readdirSync(folder)) {
    const note = JSON.parse(readFileSync(join(folder, name), 'utf8')) as object;
    writeFileSync(join(folder, name), JSON.stringify({ ...note, birth: 'long ago' }));
  }
}

const notes = (): string[] => readdirSync(join(state, 'written', 'running'));
const suspect = { sandbox: 'sbx_a', isRunning: true, wasGuarded: true };

describe('a configuration that a sandbox is kept from', () => {
  test('is beyond doubt while it is the same file, however often it is written in place, and afterwards', () => {
    const writer = start();
    writeFileSync(config, 'version: 1\nallow: []\n');
    expect(findSuspect(state, config)).toBeNull();
    expect(writer.end()).toEqual([]);
    expect(notes()).toEqual([]);
    replace();
    expect(findSuspect(state, config)).toBeNull();
  });

  test('is in doubt when it is replaced, until the sandbox has ended and its user has approved it', () => {
    const writer = start();
    replace();
    expect(findSuspect(state, config)).toEqual(suspect);
    expect(doubtOf(state, config)?.isStillWritable).toBe(true);
    approveConfig(state, config);
    expect(findSuspect(state, config)).toEqual(suspect);
    expect(writer.end()).toEqual([config]);
    expect(findSuspect(state, config)).toEqual({ ...suspect, isRunning: false });
    replace();
    expect(doubtOf(state, config)?.message).toContain('Read it. If it is yours: sallyport config approve');
    approveConfig(state, config);
    expect(doubtOf(state, config)).toBeNull();
  });

  test('is not the user’s by a word that was said while a sandbox could still write it', () => {
    noteWrittenFolders(state, [project], []);
    const writer = start([]);
    approveConfig(state, config);
    writeFileSync(config, 'the work of the sandbox');
    writer.end();
    expect(doubtOf(state, config)).not.toBeNull();
    approveConfig(state, config);
    expect(doubtOf(state, config)).toBeNull();
  });

  test('is in doubt when it is gone, made anew, or has one more name', () => {
    start();
    linkSync(config, join(project, 'other-name'));
    expect(findSuspect(state, config)).toEqual(suspect);
    unlinkSync(join(project, 'other-name'));
    expect(findSuspect(state, config)).toBeNull();
    unlinkSync(config);
    expect(findSuspect(state, config)).toEqual(suspect);
    writeFileSync(config, 'version: 1\n');
    expect(findSuspect(state, config)).toEqual(suspect);
  });

  test('is in doubt also when its number is free to come again', () => {
    const { ino } = statSync(config);
    start();
    unlinkSync(config);
    // Most file systems give the number of a file that is gone to the next.
    const made = Array.from({ length: 50 }, (_, i) => join(project, `made-${i}`));
    for (const file of made) writeFileSync(file, '');
    expect(made.map((file) => statSync(file).ino)).not.toContain(ino);
  });

  test('is in doubt when a link on the way to it lies within reach, and afterwards if it leads elsewhere now', () => {
    const far = join(base, 'far');
    mkdirSync(far);
    for (const name of ['mine.yaml', 'lax.yaml']) writeFileSync(join(far, name), 'version: 1\n');
    unlinkSync(config);
    symlinkSync('../far/mine.yaml', config);
    const first = start();
    // It can be turned there and back while somebody reads: in doubt as long as the sandbox runs.
    expect(findSuspect(state, config)).toEqual({ ...suspect, wasGuarded: false });
    expect(first.end()).toEqual([]);
    expect(findSuspect(state, config)).toBeNull();
    const second = start();
    unlinkSync(config);
    symlinkSync('../far/lax.yaml', config);
    expect(findSuspect(state, config)).toEqual(suspect);
    expect(second.end()).toEqual([config]);
    expect(findSuspect(state, config)).toEqual({ ...suspect, isRunning: false });
  });

  test('may be replaced at will where the sandbox cannot write, unless it sees the whole host', () => {
    const outside = join(base, 'sallyport.yaml');
    writeFileSync(outside, 'version: 1\n');
    const writer = start([outside]);
    replace(outside);
    expect(findSuspect(state, outside)).toBeNull();
    writer.end();
    start([outside], true);
    expect(findSuspect(state, outside)).toBeNull();
    replace(outside);
    expect(findSuspect(state, outside)).toEqual(suspect);
  });
});

describe('what is left of a sandbox whose starter was killed', () => {
  test('is nothing when the file is the same, a doubt when it is another', () => {
    start();
    kill();
    expect(findSuspect(state, config)).toBeNull();
    expect(notes()).toEqual([]);
    start();
    kill();
    replace();
    expect(findSuspect(state, config)).toEqual({ ...suspect, isRunning: false });
    clearSuspects(state, config);
    expect(findSuspect(state, config)).toBeNull();
  });

  test('is a doubt about every configuration when it cannot be read', () => {
    start();
    const [note] = notes();
    writeFileSync(join(state, 'written', 'running', note!), '{"sandbox":');
    expect(findSuspect(state, config)).toMatchObject({ isRunning: false });
    clearSuspects(state, config);
    expect(findSuspect(state, config)).toBeNull();
  });
});

describe('a configuration that a running sandbox is not kept from', () => {
  test('is in doubt also before the sandbox is kept from it, and no longer when it is', () => {
    running = noteRunningWriter(state, { sandbox: 'sbx_a', folders: [project], seesAll: false });
    expect(findSuspect(state, config)).toEqual({ ...suspect, wasGuarded: false });
    running.keepFrom([config]);
    expect(findSuspect(state, config)).toBeNull();
  });

  test('is in doubt as long as it runs, also when its user names it, and then until its user does', () => {
    noteWrittenFolders(state, [project], []);
    const writer = start([]);
    approveConfig(state, config);
    expect(findSuspect(state, config)).toEqual({ ...suspect, wasGuarded: false });
    expect(findSuspect(state, join(base, 'sallyport.yaml'))).toBeNull();
    writer.end();
    approveConfig(state, config);
    expect(doubtOf(state, config)).toBeNull();
  });

  test('is in doubt when a sandbox made it a link to something of the user’s own', () => {
    unlinkSync(config);
    noteWrittenFolders(state, [project], []);
    writeFileSync(join(base, 'lax.yaml'), 'version: 1\n');
    symlinkSync('../lax.yaml', config);
    expect(existsSync(config)).toBe(true);
    expect(doubtOf(state, config)?.message).toContain('the sandbox may have written it');
    approveConfig(state, config);
    expect(doubtOf(state, config)).toBeNull();
  });
});
