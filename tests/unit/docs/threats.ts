// The threats as the pages of docs/threats/ tell them, read for the tests that keep them true.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readPage, root, testsNamedIn } from './pages.ts';

export interface Threat {
  /** `T6`. */
  readonly number: string;
  readonly page: string;
  readonly threat: string;
  readonly controls: readonly string[];
  readonly tests: readonly string[];
}

/** Every threat of every page, by its number. */
export function readThreats(): Threat[] {
  const pages = readdirSync(join(root, 'docs/threats'));
  const threats = pages.flatMap((name) => {
    const [, ...sections] = readPage(`docs/threats/${name}`).text.split(/^## /m);
    return sections.map((section) => threatIn(section, `threats/${name}`));
  });
  return threats.sort((a, b) => Number(a.number.slice(1)) - Number(b.number.slice(1)));
}

function threatIn(section: string, page: string): Threat {
  const parts = /^(T\d+)\n\n([\s\S]+?)\n\nControls:\n\n([\s\S]+?)\n\nTests:\n\n([\s\S]+)$/.exec(section);
  if (parts === null) throw new Error(`${page}: not a threat with controls and tests: ${section.slice(0, 80)}`);
  const [, number, threat, controls, tests] = parts;
  return { number: number!, page, threat: joined(threat!), controls: items(controls!), tests: testsNamedIn(tests!) };
}

/** What the index in docs/threats.md says of each, in its order. */
export function readIndex(): Pick<Threat, 'number' | 'page' | 'threat'>[] {
  const { text } = readPage('docs/threats.md');
  return [...text.matchAll(/^- \[(T\d+)\]\((threats\/[\w-]+\.md)#(t\d+)\): (.+(?:\n {2}.+)*)/gm)].map(
    ([, number, page, anchor, threat]) => {
      if (anchor !== number!.toLowerCase()) throw new Error(`${number} leads to #${anchor}`);
      return { number: number!, page: page!, threat: `${joined(threat!)}.` };
    },
  );
}

/** The table of proofs at the end of docs/threats.md: each promise, and the tests that prove it. */
export function readPromises(): { readonly promise: string; readonly tests: readonly string[] }[] {
  const [, below] = readPage('docs/threats.md').text.split('## What holds, and the test that proves it\n');
  const [, ...promises] = below!.split(/^- /m);
  return promises.map((text) => ({ promise: joined(text.split('\n  - ')[0]!), tests: testsNamedIn(text) }));
}

function items(list: string): string[] {
  return list
    .split(/^- /m)
    .map(joined)
    .filter((item) => item !== '');
}

function joined(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}
