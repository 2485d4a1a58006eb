import { describe, expect, test } from 'vitest';
import { type OverflowFile, PackStore } from '../../../../../src/protocols/git/objects/pack-store.ts';

class TestFile implements OverflowFile {
  bytes = Buffer.alloc(0);
  isClosed = false;

  async write(chunk: Buffer): Promise<void> {
    if (this.isClosed) throw new Error('written to after it was closed');
    this.bytes = Buffer.concat([this.bytes, chunk]);
  }

  async readAt(position: number, length: number): Promise<Buffer> {
    return this.bytes.subarray(position, position + length);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

function storeOf(maxMemoryBytes: number) {
  const opened: TestFile[] = [];
  const store = new PackStore(maxMemoryBytes, async () => {
    opened.push(new TestFile());
    return opened.at(-1)!;
  });
  return { store, opened };
}

describe('the pack of an answer is kept until it has been looked into', () => {
  test.each([
    ['in memory while it is small', 11, 0],
    ['in a file from the byte on that is too many', 10, 1],
    ['in a file from the first byte on', 0, 1],
  ])('%s', async (_, maxMemoryBytes, files) => {
    const { store, opened } = storeOf(maxMemoryBytes);
    for (const piece of ['one ', 'two ', 'six']) await store.write(Buffer.from(piece));
    expect(opened).toHaveLength(files);
    expect((await store.readAt(0, 11)).toString()).toBe('one two six');
    expect((await store.readAt(2, 5)).toString()).toBe('e two');
    await store.close();
    expect(opened.every(({ isClosed }) => isClosed)).toBe(true);
  });

  test('what is not there is not read as if it were', async () => {
    const { store } = storeOf(100);
    await store.write(Buffer.from('abc'));
    await expect(store.readAt(1, 3)).rejects.toThrow(/shorter/);
  });

  test('a store that is closed while its file is being opened leaves no file open', async () => {
    const { store, opened } = storeOf(1);
    const writing = store.write(Buffer.from('abc'));
    const closing = store.close();
    await expect(writing).rejects.toThrow(/no longer kept/);
    await closing;
    expect(opened).toHaveLength(1);
    expect(opened[0]).toMatchObject({ isClosed: true, bytes: Buffer.alloc(0) });
  });

  test('nothing is written to a store that is closed', async () => {
    const { store, opened } = storeOf(1);
    await store.write(Buffer.from('abc'));
    await store.close();
    await expect(store.write(Buffer.from('d'))).rejects.toThrow(/no longer kept/);
    expect(opened[0]?.bytes.toString()).toBe('abc');
  });
});
