import { expect, test } from 'vitest';
import { type DescribedWrite, judgeDescribed } from '../../../../../src/stages/authorize/git/judge-described.ts';
import { sandboxWith } from '../../../../support/hand-made-flow.ts';
import { handMadePolicy } from '../../../../support/hand-made-policy.ts';

const strict = handMadePolicy({ protectedPaths: ['.github/workflows/**'] });
const bot = sandboxWith({ authMode: 'bot', allowedBranches: ['sandbox/*'] });
const codesOf = (write: DescribedWrite): string[] => judgeDescribed(strict, bot, write).map(({ code }) => code);

const own = 'refs/heads/sandbox/x';

test.each<[string[], DescribedWrite]>([
  [[], { ref: own, becomes: 'created' }],
  [[], { ref: own, becomes: 'moved', paths: ['src/a.ts'] }],
  [['push.force'], { ref: own, becomes: 'rewritten' }],
  [['push.deletion'], { ref: own, becomes: 'deleted' }],
  [['push.protected-branch', 'push.force'], { ref: 'refs/heads/main', becomes: 'rewritten' }],
  [['push.branch-not-allowed'], { ref: 'refs/tags/v1', becomes: 'created' }],
  [['push.tag-moved'], { ref: 'refs/tags/v1', becomes: 'rewritten' }],
  [['push.protected-path'], { ref: own, becomes: 'moved', paths: ['a', '.GitHub/workflows/x.yml'] }],
  [['push.protected-path'], { ref: own, becomes: 'created', paths: ['.github'] }],
])('finds %j in %j', (codes, write) => expect(codesOf(write)).toEqual(codes));

test('what the policy allows is no finding', () => {
  const open = handMadePolicy({ allowForcePush: true });
  expect(judgeDescribed(open, bot, { ref: own, becomes: 'rewritten', paths: ['.github/workflows/x.yml'] })).toEqual([]);
});
