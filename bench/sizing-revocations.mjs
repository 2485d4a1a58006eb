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
    const asking = askUntilRefused(b.port, `Basic ${Buffer.from(`${id}:${grant.secret}`).toString('base64')}`);
    await asking.served;
    const begun = performance.now();
    const gone = a.admin('DELETE', `/${id}`).then(() => performance.now() - begun);
    held.push((await asking.refused) - begun);
    confirmed.push(await gone);
  }
  return [median(held), median(confirmed)];
}

/** CONNECT, each on a connection of its own, so that every one is judged anew. */
function askUntilRefused(port, proof) {
  let onServed;
  const served = new Promise((resolve) => {
    onServed = resolve;
  });
  const knock = () =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', reject);
      socket.on('connect', () =>
        socket.write(`CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\nProxy-Authorization: ${proof}\r\n\r\n`),
      );
      socket.once('data', (chunk) => {
        resolve(Number(chunk.toString('latin1').slice(9, 12)));
        socket.destroy();
      });
    });
  const until = async () => {
    for (let i = 0; i < 5000; i++) {
      const status = await knock();
      if (status !== 200) return performance.now();
      onServed();
    }
    throw new Error('a sandbox that was removed is still served');
  };
  return { served, refused: until() };
}
