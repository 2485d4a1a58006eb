// `policy.blocked_api_patterns`: operations that are refused whatever else allows them. A block wins if it matches
// any reading of the path, because a server may read any of them. // Guards: threats.md T6
import type { CanonicalRequest } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import type { GithubPlace } from './github-place.ts';
import { readingsOf } from './path-forms.ts';

export function refuseBlockedApi(
  policy: CompiledPolicy,
  canonical: CanonicalRequest,
  method: string,
  github: GithubPlace | null,
): void {
  const patterns = policy.blockedApiPatterns.get(method);
  if (patterns === undefined || patterns.length === 0) return;
  for (const reading of apiReadings(canonical, github)) {
    for (const pattern of patterns) {
      if (!pattern.matches(reading)) continue;
      throw new Refusal('policy.blocked-api', `${method} ${canonical.path} is blocked by policy`, {
        rule: pattern.rule,
        // Those of the default stand in no file: a block of one's own takes their place.
        hint: `It matches ${pattern.text}. Ask a person to do it, or to write policy.blocked_api_patterns without that pattern.`,
      });
    }
  }
}

/** The same pattern blocks `/repos/o/r` and an Enterprise host's `/api/v3/repos/o/r`. */
function apiReadings(canonical: CanonicalRequest, github: GithubPlace | null): readonly string[] {
  const readings = readingsOf(canonical);
  const prefix = github?.prefix ?? '';
  if (prefix === '') return readings;
  const stripped = readings
    .filter((reading) => reading.toLowerCase().startsWith(prefix))
    .map((reading) => reading.slice(prefix.length));
  return [...readings, ...stripped];
}
