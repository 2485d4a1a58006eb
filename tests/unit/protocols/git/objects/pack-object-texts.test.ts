import { describe, expect, test } from 'vitest';
import { parseCommit } from '../../../../../src/protocols/git/objects/object-commit.ts';
import { EMPTY_TREE_ID, oidOf } from '../../../../../src/protocols/git/objects/object-id.ts';
import { isDirectory, leadsElsewhere, parseTree } from '../../../../../src/protocols/git/objects/object-tree.ts';
import { parseTag } from '../../../../../src/protocols/git/objects/pack-objects.ts';
import { commitText, treeText } from './pack-builder.ts';

const one = '1'.repeat(40);
const two = '2'.repeat(40);
const malformed = expect.objectContaining({ code: 'malformed' });

describe('an id is computed from the bytes', () => {
  test('the ids git gives to nothing', () => {
    expect(oidOf('tree', Buffer.alloc(0))).toBe(EMPTY_TREE_ID);
    expect(oidOf('blob', Buffer.alloc(0))).toBe('e69de29bb2d1d6434b8b29ae775ad8c2e48c5391');
  });
});

describe('a commit has the parents git sees, and no others', () => {
  test('tree and parents in order', () => {
    expect(parseCommit(commitText(EMPTY_TREE_ID, [two, one]))).toEqual({ tree: EMPTY_TREE_ID, parents: [two, one] });
  });

  test('headers nobody has heard of, and a message that looks like headers, change nothing', () => {
    const text = `tree ${one}\nauthor a\nx-new y\ngpgsig x\n parent ${two}\n\nparent ${two}\ntree ${two}\n`;
    expect(parseCommit(Buffer.from(text))).toEqual({ tree: one, parents: [] });
  });

  test.each([
    ['no tree', `parent ${one}\nauthor a\n\n`],
    ['a tree that is not first', `author a\ntree ${one}\n\n`],
    ['a short id', `tree ${one.slice(1)}\nauthor a\n\n`],
    ['a long id', `tree ${one}1\nauthor a\n\n`],
    ['an id in upper case', `tree ${'A'.repeat(40)}\nauthor a\n\n`],
    ['a parent that is no id', `tree ${one}\nparent main\nauthor a\n\n`],
    ['a parent after the author', `tree ${one}\nauthor a\nparent ${two}\n\n`],
    ['a second tree', `tree ${one}\ntree ${two}\nauthor a\n\n`],
    ['nothing in it', ''],
    ['its tree cut short', 'tree 1111'],
  ])('%s: refused', (_, text) => {
    expect(() => parseCommit(Buffer.from(text))).toThrow(malformed);
  });

  test('a crowd of parents is refused', () => {
    const crowd = commitText(one, Array(1_001).fill(two));
    expect(() => parseCommit(crowd)).toThrow(expect.objectContaining({ code: 'too-large' }));
  });
});

describe('a tree has one entry for each name', () => {
  test('modes, names and ids, in whatever order', async () => {
    const tree = await parseTree(
      treeText([
        ['40000', 'z', one],
        ['100755', 'a', two],
        ['120000', 'link', one],
        ['160000', 'sub', two],
        ['040755', 'odd', two],
      ]),
    );
    expect(tree.get('a')).toEqual({ mode: 0o100755, rawName: 'a', oid: two });
    expect([...tree.values()].filter(isDirectory).map(({ rawName }) => rawName)).toEqual(['z', 'odd']);
    expect([...tree.values()].filter(leadsElsewhere).map(({ rawName }) => rawName)).toEqual(['link', 'sub']);
  });

  test('names that differ in one byte that is not UTF-8 stay two names', async () => {
    const entry = (byte: number) =>
      Buffer.concat([Buffer.from('100644 '), Buffer.from([byte, 0]), Buffer.from(one, 'hex')]);
    expect((await parseTree(Buffer.concat([entry(0xfe), entry(0xff)]))).size).toBe(2);
  });

  test.each([
    [
      'a name twice',
      treeText([
        ['100644', 'a', one],
        ['40000', 'a', two],
      ]),
    ],
    ['an empty name', treeText([['100644', '', one]])],
    ['a slash in a name', treeText([['100644', '.github/workflows', one]])],
    ['the name .', treeText([['40000', '.', one]])],
    ['the name ..', treeText([['40000', '..', one]])],
    ['a mode that is not octal', treeText([['100648', 'a', one]])],
    ['a mode without digits', treeText([['', 'a', one]])],
    ['a mode of seven digits', treeText([['0100644', 'a', one]])],
    ['an id cut short', treeText([['100644', 'a', one]]).subarray(0, -1)],
    ['a name without an end', Buffer.from('100644 a')],
    ['no mode at all', Buffer.from('100644')],
  ])('%s: refused', async (_, content) => {
    await expect(parseTree(content)).rejects.toThrow(malformed);
  });
});

describe('a tag says what it points at', () => {
  test('an object and its type', () => {
    const text = `object ${one}\ntype commit\ntag v1\ntagger a\n\nv1\n`;
    expect(parseTag(Buffer.from(text))).toEqual({ target: one, targetType: 'commit' });
  });

  test.each([`type commit\nobject ${one}\ntag v1\n`, `object ${one}\ntype ref\ntag v1\n`, `object ${one}\n`, ''])(
    'anything else is refused (%#)',
    (text) => {
      expect(() => parseTag(Buffer.from(text))).toThrow(malformed);
    },
  );
});
