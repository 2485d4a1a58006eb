// A copy within S3 writes one object and reads another, and only the one that is written stands in the host and path of the
// request. The object that is read is judged like a read of its own. Otherwise a rule for one bucket or folder would open
// all others that the gateway's keys can read.

import type { HeaderList } from '../../path/exchange/header-list.ts';
import type { CanonicalRequest } from '../../path/flow.ts';
import { Refusal } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import type { CompiledPolicy } from '../../policy/compiled.ts';
import { findAllowRule } from './allow-rules.ts';

const field = 'x-amz-copy-source';
/** [BUCKET.]ENDPOINT. A bucket may have dots, and labels that look like those of an endpoint. */
const storageHost = /^(?:.+\.)?(s3(?:[.-][a-z0-9.-]+)?\.(?:amazonaws\.com|amazonaws\.com\.cn|api\.aws))$/;

/** Throws a Refusal when a request copies from where it could not read. */
export function refuseHiddenSource(
  policy: CompiledPolicy,
  sandbox: Sandbox,
  canonical: CanonicalRequest,
  headers: HeaderList,
): void {
  const endpoint = storageHost.exec(canonical.host)?.[1];
  if (endpoint === undefined) return;
  for (const source of [...headers.getAll(field), ...inQuery(canonical.query)]) {
    const { bucket, key } = objectIn(source);
    const read = (host: string, path: string): Refusal | null => {
      try {
        const asked = { ...canonical, host, path, rawPath: path, method: 'GET', query: null };
        findAllowRule(policy, sandbox, asked, 'GET');
        return null;
      } catch (error) {
        if (error instanceof Refusal) return error;
        throw error;
      }
    };
    // An object has two addresses: the bucket in the name of the host, and in the path.
    const refusal = read(`${bucket}.${endpoint}`, `/${key}`);
    if (refusal === null || read(endpoint, `/${bucket}/${key}`) === null) continue;
    const { code, message, rule, hint } = refusal;
    throw new Refusal(code, `${field} copies what this sandbox may not read: ${message}`, { rule, hint });
  }
}

function inQuery(query: string | null): string[] {
  if (query === null) return [];
  return [...new URLSearchParams(query)].flatMap(([name, value]) => (name.toLowerCase() === field ? [value] : []));
}

/** BUCKET/KEY[?versionId=ID], percent-encoded. Whatever could be read in two ways is refused. */
function objectIn(source: string): { readonly bucket: string; readonly key: string } {
  const [object, version = 'versionId=', ...more] = source.split('?');
  const found = /^\/?([a-z0-9][a-z0-9.-]+)\/(.+)$/s.exec(decoded(object!));
  const [, bucket = '', key = ''] = found ?? [];
  const isPlain = !/%[0-9a-f]{2}|\p{Cc}/iu.test(key) && !/(?:^|\/)(?:\.{0,2})(?:\/|$)/.test(key.replace(/\/$/, ''));
  if (found !== null && isPlain && version.startsWith('versionId=') && more.length === 0) return { bucket, key };
  throw new Refusal(
    'malformed.path',
    `the gateway does not understand ${field}, so it cannot judge what would be copied`,
    {
      rule: 'built-in: one reading of a path',
      hint: 'Write BUCKET/KEY, percent-encoded once. Access points and their ARNs are not judged: name the bucket.',
    },
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
