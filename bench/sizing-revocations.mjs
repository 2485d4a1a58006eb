// How long a revocation takes to hold at another gateway of the same store: for sizing.mjs.
import { connect } from 'node:net';

export const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** So often: the sandbox asks again and again at `b` while it is removed at `a`. */
export async function revocations(a, b, times) {
  const held = [];
  const confirmed = [];
  for (let i = 0; i < times; i++) {
    const id = `revoked-${i}`;
    const { grant } = await a.admin('POST', '', { id, proof: ['secret'] });
    const proof = `Basic ${Buffer.from(`${id}:${grant.secret}`).toString('base64')}`;
    await knockUntil(b.port, proof, (status) => status === 200);
    const begun = performance.now();
    const gone = a.admin('DELETE', `/${id}`).then(() => performance.now() - begun);
    const [refusedAt, goneAfter] = await Promise.all([knockUntil(b.port, proof, (status) => status !== 200), gone]);
    held.push(refusedAt - begun);
    confirmed.push(goneAfter);
  }
  return [median(held), median(confirmed)];
}

/** When it was answered so for the first time. Each CONNECT has a connection of its own, so that every one is judged anew. */
async function knockUntil(port, proof, isSo) {
  for (let i = 0; i < 5000; i++) if (isSo(await knock(port, proof))) return performance.now();
  throw new Error('a gateway did not learn what another one knows of a sandbox');
}

/** No status: a revocation also cuts the connections of its sandbox, and so it may meet one that waits for its answer. */
const cut = 0;

function knock(port, proof) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', (error) => (error.code === 'ECONNRESET' ? resolve(cut) : reject(error)));
    socket.on('close', () => resolve(cut));
    socket.on('connect', () =>
      socket.write(`CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\nProxy-Authorization: ${proof}\r\n\r\n`),
    );
    socket.once('data', (chunk) => {
      resolve(Number(chunk.toString('latin1').slice(9, 12)));
      socket.destroy();
    });
  });
}
