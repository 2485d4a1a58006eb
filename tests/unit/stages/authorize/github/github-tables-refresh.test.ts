import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readGraphqlTable, readRestTable } from '../../../../../src/stages/authorize/github/operation-table.ts';

const script = join(import.meta.dirname, '../../../../../scripts/refresh-github.mjs');
const number = { name: 'pull_number', in: 'path', schema: { type: 'integer' } };
const description = {
  paths: {
    '/pulls/{pull_number}': { get: { parameters: [{ $ref: '#/number' }] }, delete: { parameters: [number] } },
    '/files/{path}': {
      put: { parameters: [{ name: 'path', in: 'path', schema: { type: 'string' }, 'x-multi-segment': true }] },
    },
    '/zen': { get: {} },
  },
  number,
};
const rest = [
  '# --- described by GitHub',
  'GET    /gone read',
  '',
  '# About pulls.',
  'GET    /pulls/{pull_number} read',
  'number issue_number',
  '',
  "# --- not in GitHub's description, but served",
  'GET    /zen read-public',
  '',
].join('\n');
const graphql = ['mutation addComment issue', 'mutation oldOne issue', '', 'query node node', ''].join('\n');
const schema = 'type Mutation { addComment: Int bigNew: Int } type Query { node: Int zebra: Int }';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tables-'));
  writeFileSync(join(folder, 'api.github.com.json'), JSON.stringify(description));
  writeFileSync(join(folder, 'schema.graphql'), schema);
  writeFileSync(join(folder, 'rest.txt'), rest);
  writeFileSync(join(folder, 'graphql.txt'), graphql);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function refresh(...more: string[]): { status: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, [script, '--from', folder, '--tables', folder, ...more], {
    encoding: 'utf8',
  });
  return { status, stdout };
}

const table = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe('the tables are compared with what GitHub describes', () => {
  test('--check tells every difference and changes nothing', () => {
    const { status, stdout } = refresh('--check');
    expect(status).toBe(1);
    for (const said of [
      'new  PUT /files/{path}',
      'gone GET /gone',
      'number: pull_number',
      'new  mutation bigNew',
      'gone mutation oldOne',
    ]) {
      expect(stdout).toContain(said);
    }
    expect(stdout).not.toContain('/zen');
    expect(table('rest.txt')).toBe(rest);
    expect(table('graphql.txt')).toBe(graphql);
  });

  test('what is new comes to its place without an effect, and what is gone stays', () => {
    expect(refresh().status).toBe(0);
    expect(table('rest.txt').split('\n')).toEqual([
      '# --- described by GitHub',
      'PUT    /files/{+path} ?',
      'GET    /gone read',
      '',
      '# About pulls.',
      'GET    /pulls/{pull_number} read',
      'number issue_number',
      'number pull_number',
      'DELETE /pulls/{pull_number} ?',
      '',
      "# --- not in GitHub's description, but served",
      'GET    /zen read-public',
      '',
    ]);
    expect(table('graphql.txt').split('\n')).toEqual([
      'mutation addComment issue',
      'mutation bigNew ?',
      'mutation oldOne issue',
      '',
      'query node node',
      'query zebra ?',
      '',
    ]);
  });

  test('the gateway does not start with what nobody has decided', () => {
    refresh();
    expect(() => readRestTable(table('rest.txt'), 'rest.txt')).toThrow('a person has to say what the operation does');
    expect(() => readGraphqlTable(table('graphql.txt'), 'graphql.txt')).toThrow('a person has to say');
  });

  test('once all is decided a second run finds nothing new', () => {
    refresh();
    const again = refresh('--check');
    expect(again.stdout).toContain('0 new, 1 gone');
    expect(again.stdout).not.toContain('new  ');
  });
});
