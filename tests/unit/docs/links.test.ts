import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allPages, type Page, prose, readPage, root } from './pages.ts';

interface Link {
  readonly from: string;
  readonly target: string;
}

function relativeLinks({ path, text }: Page): Link[] {
  const targets = [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  return targets.filter((target) => !/^[a-z]+:/.test(target)).map((target) => ({ from: path, target }));
}

/** As forges make them from headings: lower case, no punctuation, hyphens for spaces. */
function anchorsOf(page: Page): string[] {
  return [...page.text.matchAll(/^#{1,6} (.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the documents lead somewhere', () => {
  const links = allPages().flatMap(relativeLinks);

  test('there are links to check', () => {
    expect(links.length).toBeGreaterThan(20);
  });

  test.each(links)('$from -> $target', ({ from, target }) => {
    const [file = '', anchor] = target.split('#');
    const path = file === '' ? from : normalize(join(dirname(from), file));
    expect(existsSync(join(root, path)), `${path} does not exist`).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(readPage(path))).toContain(anchor);
  });
});
