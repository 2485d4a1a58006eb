import { describe, expect, test } from 'vitest';
import { judgeOptions } from '../../../../../src/stages/authorize/git/judge-push.ts';

describe('a push option is an order to the server', () => {
  test.each([
    'merge_request.merge_when_pipeline_succeeds',
    'merge_request.auto_merge',
    'merge_request.remove_source_branch',
    'ci.variable=TOKEN=x',
    'CI.Variable=TOKEN=x',
    ' ci.variable=x',
    'ci.input=x',
    'integrations.skip_ci',
    'secret_push_protection.skip_all',
    'repo.private=false',
    'merge_request.merge_when_pipeline_succeeds=merge_request.create',
  ])('%s is refused', (option) => {
    const [finding, ...more] = judgeOptions(['topic', option]);
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ code: 'push.option', ref: null, reason: 'a push option is not allowed' });
    // By its name alone: a value may be a secret.
    expect(finding?.message).toContain(`the push option ${option.trim().split('=')[0]?.toLowerCase()} `);
    expect(finding?.message).not.toContain('TOKEN');
    expect(finding?.hint).toContain('(-o)');
  });

  test('those that only describe pass, and so do words without a dot', () => {
    const options = ['ci.skip', 'merge_request.create', 'merge_request.title=a.b=c', 'topic=x.y', 'wip', ''];
    expect(judgeOptions(options)).toEqual([]);
    expect(judgeOptions([])).toEqual([]);
  });
});
