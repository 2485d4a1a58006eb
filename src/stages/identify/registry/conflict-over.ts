// The error for somebody who wants to register what a live registration already has: an id, an address, a container. A live
// registration is never taken over.
import type { ClaimTaken } from '../../../path/shared-store.ts';
import type { RegistrationRequest } from './registration.ts';
import { ConflictError } from './registration-error.ts';

export function conflictOver({ claim, holder }: ClaimTaken, asked: RegistrationRequest): ConflictError {
  const [kind, what] = claim.split(' ');
  switch (kind) {
    case 'ip':
      return new ConflictError(
        `the address ${what} is in use by ${holder}`,
        `A live registration is never taken over. If that sandbox is gone, first run: sallyport unregister ${holder}`,
      );
    case 'container':
      return new ConflictError(
        `the container ${asked.container?.name ?? what} is registered as ${holder}`,
        `To register it anew, first run: sallyport unregister ${holder}`,
      );
    default:
      return new ConflictError(
        `the id ${what} is in use`,
        `Choose another id, or first run: sallyport unregister ${holder}`,
      );
  }
}
