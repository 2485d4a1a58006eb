import { describe, expect, test } from 'vitest';
import { checkUids, lookAtOwnUser, parseUids } from '../../../../src/sandbox/shim/start-shim.ts';

const own = { uids: [10_001, 10_001], seesEveryUid: true, overflowUid: 65_534 };

describe('the uids a shim serves', () => {
  test('are numbers', () => {
    expect(parseUids(['1000', '0', '4294967294'])).toEqual(new Set([1000, 0, 4_294_967_294]));
    for (const word of ['agent', '-1', '4294967295', '1.5', '', '0x10', '1e3']) {
      expect(() => parseUids([word])).toThrow('is not a uid');
    }
  });

  test('are never none, and never the one it runs as', () => {
    expect(checkUids(new Set([1000]), own)).toEqual([]);
    expect(() => checkUids(new Set(), own)).toThrow('serves nobody');
    expect(() => checkUids(new Set([1000, 10_001]), own)).toThrow('could then read its key');
    // A real uid that differs from the effective one can be taken back.
    expect(() => checkUids(new Set([1000]), { ...own, uids: [1000, 10_001] })).toThrow('could then read its key');
  });

  test('are served by no root', () => {
    expect(() => checkUids(new Set([1000]), { ...own, uids: [0, 0] })).toThrow('does not run as root');
  });

  test('with root among them are served with a warning', () => {
    expect(checkUids(new Set([0]), own)).toEqual([expect.stringContaining('serves uid 0')]);
  });

  test('do not include the one that stands for all unknown ones, where there are unknown ones', () => {
    expect(checkUids(new Set([65_534]), own)).toEqual([]);
    expect(() => checkUids(new Set([65_534]), { ...own, seesEveryUid: false })).toThrow('stands for every uid');
  });
});

test('the kernel says as whom the process runs', () => {
  expect(lookAtOwnUser()).toMatchObject({ uids: [process.getuid?.(), process.geteuid?.()], overflowUid: 65_534 });
});
