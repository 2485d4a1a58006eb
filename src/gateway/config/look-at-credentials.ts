// What a gateway would say of its credentials, without one: the sources of a policy are opened and looked at as they are at a
// start. Calls nobody: what is asked when a request needs it is said to be asked then.
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { KnownSecrets } from '../../stages/inject/scrub/known-secrets.ts';
import { SecretStore } from '../../stages/inject/secret-store.ts';
import { createOpenSource } from '../../stages/inject/sources/open-source.ts';
import type { CredentialStatus } from '../admin/admin-ports.ts';

export type LookAtCredentials = (
  policy: CompiledPolicy,
  environment: Readonly<Record<string, string | undefined>>,
) => readonly CredentialStatus[];

export const lookAtCredentials: LookAtCredentials = (policy, environment) => {
  const known = new KnownSecrets();
  const call = async (): Promise<never> => {
    throw new Error('a look at credentials calls nobody');
  };
  const report = (): void => {};
  const secrets = new SecretStore(
    createOpenSource({
      known,
      // A copy: what a credential is taken out of stays as it was.
      env: { ...environment },
      githubApps: { call, isLive: () => false, report },
      oauth: {
        call,
        report,
        alarm: report,
        note: (secret) => known.note(secret),
        home: environment.HOME ?? '/',
        sharing: null,
      },
    }),
    known,
  );
  secrets.configure(policy.credentials);
  return secrets.list();
};
