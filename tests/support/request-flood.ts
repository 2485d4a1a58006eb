// Very many requests at once through the door, as fast as this machine can: over a few connections that stay open, each with its
// next requests on the way before the answers are there.
import { openTls } from './tunnel-client.ts';

export interface Flood {
  readonly connections: number;
  readonly each: number;
  readonly host: string;
}

/** How many answers there were of each status. */
export async function flood(
  gateway: { readonly host: string; readonly port: number; readonly caPath: string },
  { connections, each, host }: Flood,
): Promise<Map<string, number>> {
  const { host: address, port, caPath } = gateway;
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => openTls({ host: address, port }, `${host}:443`, { caPath })),
  );
  const statuses = new Map<string, number>();
  await Promise.all(
    sockets.map(async (socket, at) => {
      socket.write(
        Array.from({ length: each }, (_, i) => `GET /flood/${at}/${i} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join(''),
      );
      let left = each;
      let rest = '';
      for await (const chunk of socket) {
        rest += String(chunk);
        const heads = [...rest.matchAll(/HTTP\/1\.1 (\d{3}) /g)];
        for (const [, status = ''] of heads) statuses.set(status, (statuses.get(status) ?? 0) + 1);
        const last = heads.at(-1);
        if (last !== undefined) rest = rest.slice(last.index + last[0].length);
        left -= heads.length;
        if (left <= 0) break;
      }
      socket.destroy();
    }),
  );
  return statuses;
}
