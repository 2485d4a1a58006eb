// A value that is known and stays as it is, in the form of a source. For what needs no looking after; not for a value that
// can be changed by anybody.
import { type AboutSecret, Secret } from '../../../path/secret.ts';
import type { SecretSource } from '../sources/secret-source.ts';

export function fixedSource(name: string, value: string, about: AboutSecret = {}): SecretSource {
  const secret = new Secret(name, value, about);
  return { current: () => secret };
}
