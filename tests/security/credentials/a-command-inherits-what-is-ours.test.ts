// Must not happen: the command that fetches one credential is handed others: by an open descriptor, by its environment (also
// as /proc shows it), or by the folder that the gateway was started in, where an agent may have written.
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { reveal } from '../../../src/path/secret.ts';
import { CommandSource } from '../../../src/stages/inject/sources/command-source.ts';
import { runClient } from '../../support/run-client.ts';

const planted = 'PLANTED-4c1d9e77';
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sallyport-inherit-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function printedBy(...argv: string[]): Promise<string> {
  return reveal(await new CommandSource('k', argv, 60).current());
}

const listing = 'ls -l /proc/self/fd | tr "\\n" " "';

function numbersIn(printed: string): (string | undefined)[] {
  return [...printed.matchAll(/ (\d+) -> /g)].map(([, number]) => number);
}

describe('a command that fetches a credential', () => {
  test('has no descriptor of ours: not of a file, not of a socket', async () => {
    // What this process was itself started with is not ours; the last is the listing's own.
    const before = numbersIn(await printedBy('/bin/sh', '-c', listing));
    const path = join(directory, 'secret');
    writeFileSync(path, planted);
    const file = openSync(path, 'r');
    const server = createServer().listen(join(directory, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    const printed = await printedBy('/bin/sh', '-c', listing);
    server.close();
    closeSync(file);
    expect(printed).not.toContain(directory);
    expect(numbersIn(printed)).toEqual(before);
    expect(before).toEqual(expect.arrayContaining(['0', '1', '2', '3']));
    expect(before).not.toContain(String(file));
  });

  test('sees none of our variables, in its environment or in its entry of /proc', async () => {
    vi.stubEnv('OTHER_CREDENTIAL', planted);
    vi.stubEnv('NODE_OPTIONS', '');
    const printed = await printedBy('/bin/sh', '-c', 'tr "\\0" " " < /proc/$$/environ; env | tr "\\n" " "');
    vi.unstubAllEnvs();
    expect(printed).toContain('PATH=');
    expect(printed).not.toContain(planted);
    expect(printed).not.toContain('NODE_OPTIONS');
  });

  test('does not take its answer from the folder that the gateway was started in', async () => {
    const git = (...words: string[]) => runClient('git', words, { cwd: directory });
    await git('init', '-q');
    await git('config', 'sallyport.token', planted);
    expect((await git('config', 'sallyport.token')).stdout.trim()).toBe(planted);
    const before = process.cwd();
    process.chdir(directory);
    try {
      await expect(printedBy('git', 'config', 'sallyport.token')).rejects.toThrow('ended with code 1');
    } finally {
      process.chdir(before);
    }
  });
});
