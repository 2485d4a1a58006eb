// Which files of the operator's a sandbox must leave alone, should they lie where it can reach: it may not change the
// configuration it is judged by, and may not see what a credential is read from.
import { isAbsolute } from 'node:path';
import type { CompiledPolicy, SourceSpec } from '../../policy/compiled.ts';
import type { HealthReport } from '../admin/admin-ports.ts';

export function guardedFiles({ origin, credentials }: CompiledPolicy): HealthReport['guarded'] {
  return {
    keep: isAbsolute(origin) ? [origin] : [],
    hide: [...credentials.values()].flatMap(({ source }) => filesOf(source)),
  };
}

function filesOf(source: SourceSpec): string[] {
  if (source.kind === 'github-app') return filesOf(source.privateKey);
  return source.kind === 'file' ? [source.path] : [];
}
