import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  loadGraphqlInputs,
  readGraphqlInputs,
} from '../../../../../../src/stages/authorize/github/graphql/graphql-inputs.ts';
import {
  loadGraphqlTypes,
  readGraphqlTypes,
} from '../../../../../../src/stages/authorize/github/graphql/graphql-types.ts';
import { loadGraphqlTable } from '../../../../../../src/stages/authorize/github/operation-table.ts';

const text = readFileSync(new URL('../../../../../../config/github/graphql-types.txt', import.meta.url), 'utf8');

describe('the tables of types and inputs', () => {
  test('hold nothing that a person has not decided', () => {
    expect(text.split('\n').filter((line) => line.startsWith('  new '))).toEqual([]);
  });

  test('know the input and the answer of every mutation of the table of effects', () => {
    const inputs = loadGraphqlInputs();
    const answers = loadGraphqlTypes().get('Mutation')!.edges;
    for (const name of loadGraphqlTable().mutations.keys()) {
      expect(inputs.ofMutation(name), name).not.toBeNull();
      expect(answers.has(name), name).toBe(true);
    }
  });

  test('know every input type that an input leads to', () => {
    const inputs = loadGraphqlInputs();
    for (const name of loadGraphqlTable().mutations.keys()) {
      for (const { type } of inputs.ofMutation(name)!.values()) {
        if (type !== null && type !== 'ID') expect(inputs.ofType(type), type).not.toBeNull();
      }
    }
  });

  test.each([
    ['  leaf id\n', /fields come after their type/],
    ['type A\ntype A\n', /:2: a type has one name/],
    ['type A secret\n', /what is "secret"/],
    ['type A\n  leaf id id\n', /A\.id stands here twice/],
    ['type A\n  full b:B\n', /A\.b leads to B, which is not there/],
    ['type A\n  full b\n', /"full b" is not understood/],
    ['type A\n  open b\n', /"open b" is not understood/],
    ['type A\n  leaf a\n  facts b\n', /A\.b is one of the facts and not one of the fields/],
  ])('are refused with a mistake in them: %j', (broken, message) => {
    expect(() => readGraphqlTypes(broken)).toThrow(message);
  });

  test.each(['  id:ID\n', 'input A\n  b b\n', 'input A\ninput A\n', 'type A\n', 'input A\n  b:[C\n\nx'])(
    'of inputs too: %j',
    (broken) => {
      expect(() => readGraphqlInputs(broken)).toThrow(/^graphql-inputs\.txt:\d+: /);
    },
  );
});
