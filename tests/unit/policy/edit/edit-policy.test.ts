import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { AllowEntry } from '../../../../src/policy/edit/allow-entry.ts';
import { addAllowEntries, CannotEdit } from '../../../../src/policy/edit/edit-policy.ts';

const entry: AllowEntry = { host: 'new.example.com', methods: ['GET', 'HEAD'], comment: 'seen twice' };
const line = '- { host: new.example.com, methods: [GET, HEAD] }  # seen twice';
const inline = '{ host: new.example.com, methods: [GET, HEAD] }';

/** Before, where, after, and the line that changed. */
const cases: readonly (readonly [name: string, before: string, at: number | null, after: string, line: number])[] = [
  [
    'a list of lines gets one more at its end',
    'version: 1\nallow:\n  - preset: npm\n  - host: a.example.com  # ours\n\n# the rest\nlimits: {}\n',
    null,
    `version: 1\nallow:\n  - preset: npm\n  - host: a.example.com  # ours\n  ${line}\n\n# the rest\nlimits: {}\n`,
    5,
  ],
  [
    'before an entry means above the comment that is about it',
    'version: 1\nallow:\n  # packages\n  - preset: npm\n  # asked\n  # always\n  - host: a.example.com\n    ask: true\n',
    1,
    `version: 1\nallow:\n  # packages\n  - preset: npm\n  ${line}\n  # asked\n  # always\n  - host: a.example.com\n    ask: true\n`,
    5,
  ],
  ['before the first', 'version: 1\nallow:\n- preset: npm\n', 0, `version: 1\nallow:\n${line}\n- preset: npm\n`, 3],
  [
    'a list that is not indented',
    'allow:\n- preset: npm\nversion: 1\n',
    null,
    `allow:\n- preset: npm\n${line}\nversion: 1\n`,
    3,
  ],
  [
    'an entry of several lines stays whole, with the comment at its end',
    'version: 1\nallow:\n    -   host: a.example.com\n        methods:\n          - GET\n        # until May\n    # loose\ngit: {}\n',
    null,
    `version: 1\nallow:\n    -   host: a.example.com\n        methods:\n          - GET\n        # until May\n    ${line}\n    # loose\ngit: {}\n`,
    7,
  ],
  [
    'a file without a last newline',
    'version: 1\nallow:\n  - preset: npm',
    null,
    `version: 1\nallow:\n  - preset: npm\n  ${line}`,
    4,
  ],
  [
    'lines that end as in another system',
    'version: 1\r\nallow:\r\n  - preset: npm # x\r\nlimits: {}\r\n',
    null,
    `version: 1\r\nallow:\r\n  - preset: npm # x\r\n  ${line}\r\nlimits: {}\r\n`,
    4,
  ],
  [
    'a list within a line',
    'version: 1\nallow: [{preset: npm}, {host: a.example.com}] # short\n',
    null,
    `version: 1\nallow: [{preset: npm}, {host: a.example.com}, ${inline}] # short\n`,
    2,
  ],
  [
    'before an entry of a list within a line',
    'version: 1\nallow: [{preset: npm}, &ours {host: a.example.com}]\n',
    1,
    `version: 1\nallow: [{preset: npm}, ${inline}, &ours {host: a.example.com}]\n`,
    2,
  ],
  [
    'a list in brackets over several lines, with a comma at its end',
    'version: 1\nallow: [\n  {preset: npm}, # packages\n  {host: a.example.com}, # ours\n]\n',
    null,
    `version: 1\nallow: [\n  {preset: npm}, # packages\n  {host: a.example.com}, ${inline}, # ours\n]\n`,
    4,
  ],
  [
    'an empty list',
    'version: 1\nallow: [] # nothing yet\ngit: {}\n',
    null,
    `version: 1\nallow: # nothing yet\n  ${line}\ngit: {}\n`,
    3,
  ],
  ['nothing after the colon', 'version: 1\nallow:\ngit: {}\n', null, `version: 1\nallow:\n  ${line}\ngit: {}\n`, 3],
  ['nothing after the colon, at the end of the file', 'version: 1\nallow:', null, `version: 1\nallow:\n  ${line}`, 3],
  ['a null', 'version: 1\nallow: null\n', null, `version: 1\nallow:\n  ${line}\n`, 3],
  ['no such section', '# mine\nversion: 1\n', null, `# mine\nversion: 1\nallow:\n  ${line}\n`, 3],
  ['no such section and no last newline', 'version: 1', null, `version: 1\nallow:\n  ${line}\n`, 2],
  [
    'anchors and aliases of other entries',
    'version: 1\nallow:\n  - &one\n    host: a.example.com\n    methods: &reads [GET]\n  - host: b.example.com\n    methods: *reads\n',
    1,
    `version: 1\nallow:\n  - &one\n    host: a.example.com\n    methods: &reads [GET]\n  ${line}\n  - host: b.example.com\n    methods: *reads\n`,
    6,
  ],
];

describe('entries are added to a policy as a careful person would', () => {
  test.each(cases)('%s', (_name, before, at, after, where) => {
    const edited = addAllowEntries(before, [entry], at === null ? {} : { before: at });
    expect(edited.text).toBe(after);
    expect(edited.line).toBe(where);
    const lines = after.split(/\r?\n/).slice(where - 1);
    expect(edited.added).toBe(/^allow:$/.test(lines[0]!) ? lines.slice(0, 2).join('\n') : lines[0]);
  });

  test('several entries are several lines, in their order', () => {
    const edited = addAllowEntries('version: 1\nallow:\n  - preset: npm\n', [
      { preset: 'pypi' },
      { host: '*.example.com' },
    ]);
    expect(edited.added).toBe('  - preset: pypi\n  - { host: "*.example.com" }');
    expect(edited.line).toBe(4);
  });

  test.each([
    ['an alias', 'version: 1\ngit: &x []\nallow: *x\n'],
    ['a list that another section repeats', 'version: 1\nallow: &x\n  - preset: npm\nlimits: *x\n'],
    ['one map in braces', '{version: 1}'],
    ['no map', '- preset: npm\n'],
    ['not a list', 'version: 1\nallow: {preset: npm}\n'],
    ['two documents', 'version: 1\n---\nallow: []\n'],
    ['an end mark', 'version: 1\n...\n'],
    ['broken', 'version: 1\nallow: [\n'],
    ['an entry that shares its line with the key', 'version: 1\n? allow\n: - preset: npm\n'],
  ])('what is too clever is left alone: %s', (_name, text) => {
    expect(() => addAllowEntries(text, [entry])).toThrow(CannotEdit);
  });

  test('what a sandbox has a say in is nothing but a value or a comment', () => {
    const paths = ['/a b', '/"x\\', '/\u202ereversed', '/emoji 😀', '/: y # z', "/'"];
    const hostile = { host: 'null', methods: ['POST'], paths, comment: 'for x\n  - preset: github\u2028' };
    const { text, added } = addAllowEntries('version: 1\nallow:\n  - preset: npm\n', [hostile]);
    expect(added).toMatch(/^[\x20-\x7e]*$/);
    expect(parse(text)).toEqual({
      version: 1,
      allow: [{ preset: 'npm' }, { host: 'null', methods: ['POST'], paths }],
    });
  });

  test('whatever stands around it, every other byte stays', () => {
    const pieces = fc.constantFrom(
      '  - preset: npm\n',
      '  # a comment\n',
      '\n',
      '  - host: a.example.com # b\n    methods: [GET]\n',
      '  - { host: c.example.com, paths: ["/x/**"] }\n',
      '  -\n    host: d.example.com\n    # inside\n',
      '      # deep\n',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), fc.boolean(), fc.option(fc.nat(8)), (middle, crlf, before) => {
        const plain = `# head\nversion: 1\nallow:\n${middle.join('')}# tail\naudit: {}\n`;
        const text = crlf ? plain.replaceAll('\n', '\r\n') : plain;
        const edited = addAllowEntries(text, [entry], before === null ? {} : { before });
        const lines = edited.text.split('\n');
        lines.splice(edited.line - 1, 1);
        expect(lines.join('\n')).toBe(text);
        const had = (parse(text) as { allow: unknown[] | null }).allow ?? [];
        const now = (parse(edited.text) as { allow: unknown[] }).allow;
        expect(now.length).toBe(had.length + 1);
        expect(now[Math.min(before ?? had.length, had.length)]).toEqual({
          host: 'new.example.com',
          methods: ['GET', 'HEAD'],
        });
      }),
      { numRuns: 150 },
    );
  });
});
