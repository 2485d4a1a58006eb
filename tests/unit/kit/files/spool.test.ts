import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Spool, SpoolFile, SpoolFull } from '../../../../src/kit/files/spool.ts';

const directory = mkdtempSync(join(tmpdir(), 'spool-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const spoolOf = (maxBytes: number): Spool => new Spool(directory, () => maxBytes);

async function textOf(file: SpoolFile, pieceBytes?: number): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of file.chunks(pieceBytes)) pieces.push(piece.toString('latin1'));
  return pieces;
}

/** Open files of this process that stand in the spool's directory, by number. */
function openFiles(): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory);
      } catch {
        return false;
      }
    });
}

describe('a spooled body comes back byte for byte', () => {
  test('in pieces, from any place, also before it is complete', async () => {
    const file = await spoolOf(100).open();
    await file.write(Buffer.from('abc'));
    await file.write(Buffer.alloc(0));
    expect((await file.readAt(1, 2)).toString()).toBe('bc');
    await file.write(Buffer.from('defgh'));
    expect(await textOf(file)).toEqual(['abcdefgh']);
    expect(await textOf(file, 3)).toEqual(['abc', 'def', 'gh']);
    expect((await file.readAt(2, 4)).toString()).toBe('cdef');
    expect(file.bytes).toBe(8);
    await file.close();
  });

  test('an empty one has no pieces', async () => {
    const file = await spoolOf(100).open();
    expect(await textOf(file)).toEqual([]);
    await file.close();
  });

  test('more than there is cannot be read', async () => {
    const file = await spoolOf(100).open();
    await file.write(Buffer.from('abc'));
    await expect(file.readAt(1, 3)).rejects.toThrow('shorter than what is asked');
    await file.close();
  });

  test('two files do not know of each other', async () => {
    const spool = spoolOf(100);
    const [one, other] = [await spool.open(), await spool.open()];
    await Promise.all([one.write(Buffer.from('one')), other.write(Buffer.from('other'))]);
    expect([await textOf(one), await textOf(other)]).toEqual([['one'], ['other']]);
    await Promise.all([one.close(), other.close()]);
  });
});

describe('nothing is left behind', () => {
  test('a file has no name, and only its owner could have opened it', async () => {
    const file = await spoolOf(100).open();
    await file.write(Buffer.from('secret'));
    expect(readdirSync(directory)).toEqual([]);
    const [fd] = openFiles();
    const { nlink, mode } = statSync(`/proc/self/fd/${fd}`);
    expect([nlink, mode & 0o777]).toEqual([0, 0o600]);
    await file.close();
    expect(openFiles()).toEqual([]);
  });

  test('a directory that is not there is an error of ours, not a full spool', async () => {
    const opening = new Spool(join(directory, 'none'), () => 100).open();
    await expect(opening).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('all files together stay under one limit', () => {
  test('the byte that is too many is refused before it is written, whichever file it is for', async () => {
    const spool = spoolOf(10);
    const [one, other] = [await spool.open(), await spool.open()];
    await one.write(Buffer.alloc(6));
    await other.write(Buffer.alloc(4));
    await expect(other.write(Buffer.alloc(1))).rejects.toThrow(SpoolFull);
    expect([spool.bytes, other.bytes]).toEqual([10, 4]);
    await one.close();
    expect(spool.bytes).toBe(4);
    await other.write(Buffer.alloc(6));
    await other.close();
    expect(spool.bytes).toBe(0);
  });

  test('the next piece is read while one is used, and no more than that', async () => {
    const file = await spoolOf(100).open();
    await file.write(Buffer.from('abcdefgh'));
    const readAt = file.readAt.bind(file);
    const asked: number[] = [];
    file.readAt = (at, length) => {
      asked.push(at);
      return readAt(at, length);
    };
    const pieces = file.chunks(2);
    await pieces.next();
    expect(asked).toEqual([0, 2]);
    await pieces.return(undefined);
    await file.close();
  });

  test('closing gives the room back once, however often it is done', async () => {
    const spool = spoolOf(10);
    const [one, other] = [await spool.open(), await spool.open()];
    await one.write(Buffer.alloc(5));
    await other.write(Buffer.alloc(5));
    await Promise.all([one.close(), one.close()]);
    await one.close();
    expect(spool.bytes).toBe(5);
    await other.close();
    expect(spool.bytes).toBe(0);
  });

  test('a limit that is lowered holds from the next byte on', async () => {
    let max = 10;
    const spool = new Spool(directory, () => max);
    const file = await spool.open();
    await file.write(Buffer.alloc(5));
    max = 5;
    await expect(file.write(Buffer.alloc(1))).rejects.toThrow('more than 5 bytes of requests wait on disk');
    await file.close();
  });

  test('a full disk is a full spool, and what was taken for the write is given back with the file', async () => {
    let taken = 0;
    const file = new SpoolFile(await open('/dev/full', 'r+'), (bytes) => {
      taken += bytes;
    });
    await expect(file.write(Buffer.from('abc'))).rejects.toThrow(SpoolFull);
    await expect(file.write(Buffer.from('abc'))).rejects.toMatchObject({ cause: { code: 'ENOSPC' } });
    expect(taken).toBe(6);
    await file.close();
    expect(taken).toBe(0);
  });

  test('another fault of the disk is told as it is', async () => {
    const file = new SpoolFile(await open('/dev/null', 'r'), () => {});
    await expect(file.write(Buffer.from('abc'))).rejects.toMatchObject({ code: 'EBADF' });
    await file.close();
  });
});
