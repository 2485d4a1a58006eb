// sallyport.internal: the name under which the door answers a sandbox about itself. Every sandbox may ask there, no rule of the
// policy has a say in it, and no credential goes there: nothing that is sent to it leaves the gateway.
import type { CanonicalRequest, Permission } from '../../path/flow.ts';
import { insideHost } from '../../path/inside-host.ts';
import { Refusal } from '../../path/refusal.ts';
import { refuseTalkingType } from './lookup-rules.ts';

const rule = `built-in: ${insideHost} is the gateway itself`;

/** For every kind of request, names and tunnels included: otherwise a rule for `*` could make something else of it. */
export function decideInside(canonical: CanonicalRequest): Permission {
  const { kind, port } = canonical;
  if (kind === 'lookup') refuseTalkingType(canonical);
  else if (port !== 80 && port !== 443) {
    throw new Refusal('target.port', `${insideHost} answers on ports 80 and 443, not on ${port}`, {
      rule,
      hint: `Use http://${insideHost}/ or https://${insideHost}/.`,
    });
  }
  // What is not decrypted cannot be answered, and there is nobody behind it to pass it on to.
  if (kind === 'tunnel') {
    throw new Refusal(
      'domain.not-allowed',
      `${insideHost} is answered by the gateway itself and cannot be reached through an undecrypted tunnel`,
      {
        rule,
        hint: `Use http://${insideHost}/, or https with the certificates that the sandbox was given.`,
      },
    );
  }
  return { rule, tunnel: false, credential: null, git: null, github: null, repository: null, inside: true };
}
