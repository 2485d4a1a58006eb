// What a question is about, in one line as people write addresses: for every place on a terminal that names one. Made harmless
// here, since a sandbox has chosen most of it.
import type { Question } from '../../path/approvals.ts';
import { printable } from './printable.ts';

export function askedAddress({ method, scheme, host, port, path, query }: Question): string {
  const place = `${host}${isUsualPort(scheme, port) ? '' : `:${port}`}`;
  if (path === '') return printable(`an undecrypted tunnel to ${place}`);
  return printable(`${method} ${scheme}://${place}${path}${typeof query === 'string' ? `?${query}` : ''}`);
}

export function isUsualPort(scheme: unknown, port: unknown): boolean {
  return port === (scheme === 'http' ? 80 : 443);
}
