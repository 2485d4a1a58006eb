// The methods a request may turn out to have: its own, and those it asks the server to pretend. Many frameworks obey
// X-HTTP-Method-Override and its kin, so a POST could be a DELETE: every rule is put to all of them.
import type { HeaderList } from '../../path/exchange/header-list.ts';
import { Refusal } from '../../path/refusal.ts';

const overrideFields: ReadonlySet<string> = new Set(['x-http-method-override', 'x-http-method', 'x-method-override']);
// They send back what they were sent, credential included.
const echoing: ReadonlySet<string> = new Set(['TRACE', 'TRACK']);

/** The request's own method first; in upper case, because some servers do not mind the case. */
export function judgedMethods(method: string, headers: HeaderList): readonly string[] {
  const methods = [method.toUpperCase()];
  const { keys, values } = headers;
  for (let i = 0; i < keys.length; i++) {
    if (overrideFields.has(keys[i]!)) methods.push(values[i]!.trim().toUpperCase());
  }
  for (const one of methods) {
    if (echoing.has(one)) {
      throw new Refusal('method.not-allowed', `${one} is never forwarded`, {
        rule: 'built-in: no echo of credentials',
        hint: `${one} answers with the request it was sent, credentials included. No rule can allow it.`,
      });
    }
  }
  return methods;
}
