// The stamp of the authorize stage: nothing else can say that a request may pass. scripts/rooms.cjs names who may use it.
import type { Permission, Stated } from '../flow.ts';

export function granted(permission: Permission): Stated<Permission, 'authorize'> {
  return permission as Stated<Permission, 'authorize'>;
}
