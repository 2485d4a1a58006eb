import { describe, expect, test } from 'vitest';
import { learningView, whyNoLearning } from '../../../../src/gateway/approvals/learning-view.ts';
import type { CompiledPolicy } from '../../../../src/policy/compiled.ts';
import { explainHosts } from '../../../../src/policy/explain/explain-hosts.ts';
import { anyHost } from '../../../../src/policy/host-pattern.ts';
import { handMadePolicy } from '../../../support/hand-made-policy.ts';

const namesOf = (policy: CompiledPolicy, host: string) => policy.rulesFor(host).map(({ name }) => name);

describe('the policy of a sandbox that learns', () => {
  test('an unknown host has one rule: to read, over https, with no credential', () => {
    const [rule, ...more] = learningView(handMadePolicy({})).rulesFor('new.example');
    expect(more).toEqual([]);
    expect(rule).toMatchObject({ name: 'learning', ports: [443], plainHttp: false, tunnel: false, bare: true });
    expect([...rule!.methods!]).toEqual(['GET', 'HEAD']);
  });

  test('is explained as what it is: not every host, since GitHub, git and credentials are known', () => {
    const sentences = explainHosts(learningView(handMadePolicy({})), { full: false, places: false });
    expect(sentences).toEqual([
      'Every public host that the policy does not name: GET, HEAD (reading), without any credential.',
    ]);
  });

  test('a host that a rule names, by itself or by a wildcard, has its own rules and no other', () => {
    const view = learningView(handMadePolicy({ allow: [{ host: 'a.example' }, { host: '*.b.example' }] }));
    expect(namesOf(view, 'a.example')).toEqual(['allow[0]']);
    expect(namesOf(view, 'x.b.example')).toEqual(['allow[1]']);
    expect(namesOf(view, 'b.example')).toEqual(['learning']);
  });

  test('where a person is asked about every host nobody names, the person is asked first', () => {
    const base = handMadePolicy({ allow: [{ host: 'a.example', ask: true }] });
    const rule = { ...base.allow[0]!, host: anyHost };
    const asking = { ...base, allow: [rule], rulesFor: () => [rule] };
    expect(namesOf(learningView(asking), 'new.example')).toEqual(['allow[0]', 'learning']);
  });

  test('what is remembered of made-up names is bounded and stays right', () => {
    const view = learningView(handMadePolicy({ allow: [{ host: 'a.example' }] }));
    for (let i = 0; i < 10_000; i++) view.rulesFor(`h${i}.example`);
    expect([namesOf(view, 'a.example'), namesOf(view, 'h1.example')]).toEqual([['allow[0]'], ['learning']]);
  });

  test('behind a proxy of the operator the policy stays as it is', () => {
    const base = handMadePolicy({});
    const proxy = { host: 'proxy.example', port: 3128, byName: true, except: [], login: null };
    const behind = { ...base, upstream: { ...base.upstream, proxy } };
    expect(learningView(behind)).toBe(behind);
    expect(whyNoLearning(behind)).toContain('upstream.proxy');
    expect(whyNoLearning(base)).toBeNull();
  });
});
