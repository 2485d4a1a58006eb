// Reads the tables of GitHub's operations at start, so that a broken one is found there and no request waits. The types of
// GraphQL, which are the largest, wait for the first document: few sandboxes of a small set-up ever send one.
import { loadGraphqlTable } from './operation-table.ts';
import { findRestOperation } from './rest-operation.ts';

export function loadGithubTables(): void {
  loadGraphqlTable();
  findRestOperation('GET', '/');
}
