// Many sandboxes on one gateway: each registered by an address of its own, each with a tunnel of its own, all asking at once.
import { request } from 'node:http';
import path from 'node:path';
import { sizes, work } from './sizes.mjs';

const socketPath = path.join(work, 'sallyport-home', 'run', 'admin.sock');
/** As mb spreads its sources. */
const addressOf = (index) => `127.1.${Math.floor(index / 250)}.${(index % 250) + 1}`;

/** `load` sends the requests, from so many addresses. */
export async function measureSandboxes(load) {
  const count = sizes.sandboxes;
  let next = 0;
  const lane = async () => {
    while (next < count) await register(addressOf(next++));
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  const result = load(count);
  return { ...result, kib_per_sandbox: (result.rss_kib - result.rss_before_kib) / count };
}

/** One that an earlier round has registered stays as it is. */
function register(address) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ socketPath, method: 'POST', path: '/internal/containers', headers }, (answer) => {
      answer.resume().on('end', resolve);
      if (answer.statusCode >= 300 && answer.statusCode !== 409) reject(new Error(`register: ${answer.statusCode}`));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ container_ip: address }));
  });
}
