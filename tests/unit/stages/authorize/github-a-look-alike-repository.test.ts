import { describe, expect, test } from 'vitest';
import { HeaderList } from '../../../../src/path/exchange/header-list.ts';
import { decide } from '../../../../src/stages/authorize/decide.ts';
import { canonicalOf, refusalOf, sandboxWith } from '../../../support/hand-made-flow.ts';
import { githubPolicy } from '../../../support/hand-made-policy.ts';

const bases = ['https://api.github.com', 'https://uploads.github.com', 'https://ghe.example.com/api/v3'];
const encoded = (name: string): string => encodeURIComponent(name);

describe('a repository that looks like one of the sandbox is not one of them', () => {
  test.each([
    ['a Cyrillic letter in the owner', `${encoded('\u0430cme')}/widgets`],
    ['a Cyrillic letter in the name', `acme/${encoded('widg\u0435ts')}`],
    ['full-width letters', `${encoded('ａｃｍｅ')}/widgets`],
    ['a letter that folds to another: the Kelvin sign is none of them', `acme/${encoded('widgets\u212a')}`],
    ['a long s, which some fold to s', `acme/${encoded('widget\u017f')}`],
    ['a dotless i', `acme/${encoded('w\u0131dgets')}`],
    ['a zero-width joiner', `acme/${encoded('wid\u200dgets')}`],
    ['a soft hyphen', `ac${encoded('\u00ad')}me/widgets`],
    ['a dot behind it', 'acme/widgets.'],
    ['a dot before it', 'acme/.widgets'],
    ['.git twice', 'acme/widgets.git.git'],
    ['another ending', 'acme/widgets.wiki'],
    ['a space', 'acme/widgets%20'],
    ['a plus', 'acme/widgets+'],
    ['a tilde', 'acme/widgets~1'],
    ['an at', '@acme/widgets'],
    ['a colon', 'acme/x:widgets'],
    ['a longer name', 'acme/widgets2'],
    ['a shorter name', 'acme/widget'],
    ['another owner', 'acme2/widgets'],
    ['a hyphen for an underscore', 'acme-/widgets'],
    ['the name of the owner', 'widgets/acme'],
    ['a star', 'acme/*'],
    ['braces', 'acme/%7Brepo%7D'],
    ['a question mark in it', 'acme/widgets%3F'],
    ['a hash in it', 'acme/widgets%23'],
  ])('%s', (_, name) => {
    for (const base of bases) {
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/contents/README.md'],
        ['GET', '/newer/than/the/table'],
        ['POST', '/issues'],
        ['PUT', '/contents/README.md'],
      ] as const) {
        const ask = () =>
          decide(githubPolicy, sandboxWith(), canonicalOf(method, `${base}/repos/${name}${path}`), new HeaderList());
        expect(refusalOf(ask).code).toMatch(/^repo\.(?:not-allowed|operation-not-judged)$/);
      }
    }
  });

  test.each(['acme/widgets', 'ACME/Widgets', 'acme/widgets.git', 'Acme/WIDGETS.GIT'])('%s is the same one', (name) => {
    for (const base of bases) {
      const canonical = canonicalOf('POST', `${base}/repos/${name}/issues`);
      expect(decide(githubPolicy, sandboxWith(), canonical, new HeaderList()).repository).toBe('acme/widgets');
    }
  });
});
