/**
 * So many milliseconds, and then turns of the event loop, in which what has arrived is read and passed on: by client, gateway
 * and far side, when all of them are in this process. A timer alone may be due before the sockets were looked at even once.
 */
export async function settle(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
