// A yes or no in the query of an admin route. Never guesses: what is neither is an error.
import { AdminError } from './admin-error.ts';

export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name) ?? '0';
  if (value === '1' || value === 'true') return true;
  if (value === '0' || value === 'false' || value === '') return false;
  throw new AdminError(400, 'admin.bad-request', `${name} must be 1 or 0`);
}
