// Reads every table of GitHub's operations at once: at start, so that a broken one is found there and no request waits.
import { loadGraphqlInputs } from './graphql/graphql-inputs.ts';
import { loadGraphqlTypes } from './graphql/graphql-types.ts';
import { loadGraphqlTable } from './operation-table.ts';
import { findRestOperation } from './rest-operation.ts';

export function loadGithubTables(): void {
  loadGraphqlTable();
  loadGraphqlInputs();
  loadGraphqlTypes();
  findRestOperation('GET', '/');
}
