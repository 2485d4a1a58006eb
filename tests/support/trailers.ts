// A request over HTTP/2 whose trailers the test chooses.
import { openHttp2 } from './tunnel-client.ts';

export async function askHttp2WithTrailers(
  door: { readonly host: string; readonly port: number; readonly caPath: string },
  host: string,
  trailers: Record<string, string>,
): Promise<number> {
  const session = await openHttp2(door, host, { caPath: door.caPath });
  const stream = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false, waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  const status = new Promise<number>((resolve, reject) => {
    stream.on('response', (headers) => resolve(Number(headers[':status'])));
    stream.on('error', reject);
  });
  stream.end('x');
  stream.resume();
  const seen = await status;
  session.destroy();
  return seen;
}
