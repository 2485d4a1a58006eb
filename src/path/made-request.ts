// A request that the gateway makes up itself: a question of its own, or one that `sallyport check` asks about.

import type { HeaderList } from './exchange/header-list.ts';
import type { RawRequest } from './flow.ts';

export function madeRequest(
  scheme: RawRequest['scheme'],
  method: string,
  target: string,
  headers: HeaderList,
): RawRequest {
  return {
    protocol: 'http/1.1',
    scheme,
    method,
    target,
    authority: null,
    headers,
    connect: null,
    sni: null,
    kind: 'http',
    hiddenName: false,
    destination: null,
    fault: null,
  };
}
