// The tables that the gateway brings with it: what GitHub's operations do, and what models cost. Read once per process.

import { loadGithubTables } from '../../stages/authorize/github/load-tables.ts';
import { loadPrices } from '../../stages/authorize/limits/budget-prices.ts';

const afterMs = 1_500;

export function loadTables(): void {
  loadGithubTables();
  loadPrices();
}

/**
 * A broken table must stop the start, not a request. A sandbox that waits for its start has no time for it: there it is read
 * a moment later, and should it be broken, every call of GitHub's is refused.
 */
export function loadTablesFor(doors: 'configured' | 'sandboxes' | undefined): void {
  if (doors !== 'sandboxes') loadTables();
  else setTimeout(loadTables, afterMs).unref();
}
