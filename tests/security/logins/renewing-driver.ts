// A process that renews one login over and over, for the tests that kill it or run several at once. Asks a pretend endpoint
// on loopback; prints a line for every token it has got. Begins when its input says so.
//   node renewing-driver.mjs HOME ENDPOINT ROUNDS
import { once } from 'node:events';
import type { TokenCall } from '../../../src/stages/inject/logins/oauth-call.ts';
import { openKnownLogin } from '../../../src/stages/inject/logins/oauth-open.ts';

const [home = '', endpoint = '', rounds = '0'] = process.argv.slice(2);

const call = async ({ body }: TokenCall) => {
  const answer = await fetch(endpoint, { method: 'POST', body: new Uint8Array(body) });
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
};
const report = (what: string, detail: object): void => {
  if (what !== 'a token was renewed') process.stdout.write(`FAULT ${what} ${JSON.stringify(detail)}\n`);
};
const spec = { kind: 'login', agent: 'codex', path: null, provider: null } as const;

process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdin.destroy();
for (let round = 0; round < Number(rounds); round++) {
  // A new one each time: none remembers that it has just renewed.
  const source = openKnownLogin('chatgpt', spec, { home, call, report, note: () => {} });
  const secret = await source.current();
  if (secret !== null && (await source.renewed(secret)) === null) process.stdout.write('FAULT nothing better\n');
  process.stdout.write('renewed\n');
}
