// A credential in the form in which it was written into a path or a body. Its characters may be escaped there, and whoever sends
// it back may escape that once more: so answers are searched for this form as if it were another value.
import { reveal, Secret } from '../../../path/secret.ts';

export function noteWritten(note: ((secret: Secret) => void) | undefined, secret: Secret, written: string): void {
  if (note === undefined || written === reveal(secret)) return;
  note(new Secret(secret.name, written, { login: secret.login, expiresAtMs: secret.expiresAtMs }));
}
