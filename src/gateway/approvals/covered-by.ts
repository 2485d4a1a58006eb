// What an approval of something that was asked covers: never more than what was shown. Decides nothing.
import type { Approval, ApprovalScope, Asked } from '../../path/approvals.ts';

/** Of GitHub's effects `path` is this repository, and `host` every repository of the sandbox at that host. */
export function coveredBy(asked: Asked, scope: ApprovalScope): Approval['covers'] {
  const { scheme, host, port, path, effect, repository, credential } = asked;
  const method = plainMethodOf(asked);
  if (effect !== null && isAboutEffect(asked)) {
    const where = scope === 'path' ? repository : null;
    return { kind: 'effect', scheme, host, port, effect, repository: where, credential };
  }
  const tunnel = path === '';
  const own = scope === 'path' && !tunnel ? path : null;
  const websocket = isWebSocket(asked);
  return { kind: 'request', scheme, host, port, method, path: own, tunnel, websocket, credential };
}

/** Asked because of what it does on GitHub, and not because of where it goes. */
function isAboutEffect({ rule, effect }: Asked): boolean {
  return effect !== null && rule.startsWith('github.effects.');
}

/** A WebSocket begins as a GET; a person is shown which it is. */
export function plainMethodOf(asked: Asked): string {
  return isWebSocket(asked) ? 'GET' : asked.method;
}

function isWebSocket({ method }: Asked): boolean {
  return method === 'GET (WebSocket)';
}
