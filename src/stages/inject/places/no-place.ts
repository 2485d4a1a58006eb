// The refusal where a request has no place for its credential: it would go out without, and the answer would say less than this.
import { Refusal } from '../../../path/refusal.ts';

export function noPlace(credential: string, what: string, hint: string): Refusal {
  return new Refusal('credential.no-place', `the credential ${credential} has no place in this request: ${what}`, {
    rule: `credentials.${credential}.inject`,
    hint,
  });
}
