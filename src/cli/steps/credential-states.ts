// Which credentials are configured, which of them can be used, and what to do about those that cannot: the one place that tells
// it, for the banners of `run` and `up`, `config check`, `doctor` and `secret list`. Never has a value in hand.
import type { CredentialStatus } from '../../gateway/admin/admin-ports.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { CliContext } from '../cli-context.ts';
import { printable } from '../terminal/printable.ts';

/** `missing` waits for `sallyport secret set`; `unreadable` has a source, and that fails. */
export type CredentialState = 'set' | 'when used' | 'missing' | 'unreadable';

type Known = Pick<CredentialStatus, 'name' | 'source' | 'set' | 'unasked' | 'error'>;

export function stateOfCredential({ set, unasked, error }: Known): CredentialState {
  if (set) return 'set';
  if (unasked === true) return 'when used';
  return error ? 'unreadable' : 'missing';
}

/** What is wrong with each, and what to do: a sentence that can stand by itself. */
export function credentialTroubles(credentials: readonly Known[]): string[] {
  return credentials.flatMap((one) => {
    if (!one.error) return [];
    const what = one.set ? 'has a problem' : 'cannot be used';
    return [`the credential ${printable(one.name)} ${what}: ${printable(one.error)}`];
  });
}

/** As a gateway with this policy would say it, where none runs. Nothing is asked but what lies on this machine. */
export async function lookAtCredentials(
  context: Pick<CliContext, 'env'>,
  policy: CompiledPolicy,
): Promise<readonly CredentialStatus[]> {
  if (policy.credentials.size === 0) return [];
  const { loadCredentialLook } = await import('../../gateway/load-service.ts');
  return (await loadCredentialLook())(policy, context.env);
}
