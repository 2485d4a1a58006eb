// What the operator of a gateway should hear at its start and whenever its health is asked for. Changes nothing.

import { openFileLimit, openFilesWarnings } from '../../kit/open-files.ts';
import type { LivePolicy } from '../../policy/load/live-policy.ts';
import type { Ca } from '../../stages/accept/tls/ca.ts';
import type { ConfiguredDoors } from './configured-doors.ts';

export function warningsOf(live: LivePolicy, ca: Ca, { identityCa }: ConfiguredDoors, processes: number): string[] {
  const rejected = live.rejected === null ? [] : [`the configuration file is not in force: ${live.rejected.message}`];
  const { warnings, limits } = live.current;
  const files = openFilesWarnings(openFileLimit(), processes, limits.gateway.connections);
  return [...rejected, ...warnings, ...files, ...ca.warnings, ...(identityCa?.warnings ?? [])];
}
