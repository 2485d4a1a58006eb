// `sallyport watch` at a real terminal, in front of a real gateway: requests that wait are approved and denied with keys, and
// the terminal is given back as it was.
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { runAtTerminal } from '../support/pty.ts';
import { runClient } from '../support/run-client.ts';
import { type BuiltCommand, buildCommand, type RunningGateway } from '../support/spawn-gateway.ts';

let upstream: Server;
let command: BuiltCommand;
let gateway: RunningGateway;
const reached: string[] = [];

beforeAll(async () => {
  upstream = createServer((request, response) => {
    reached.push(request.url ?? '');
    response.end('hello');
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  command = buildCommand({
    allow: [{ host: 'asked.example', plain_http: true, ask: true }],
    upstream: { resolve: { 'asked.example': `127.0.0.1:${port}` } },
  });
  gateway = await command.up();
  const registered = await command.run(['register', '--ip', '127.0.0.1', '--id', 'sbx-asks']);
  expect(registered.code, registered.stderr).toBe(0);
});

afterAll(async () => {
  gateway?.kill('SIGTERM');
  await gateway?.ended;
  command?.remove();
  upstream?.close();
});

const main = (): string => join(command.home, 'package', 'dist', 'main.cjs');
const environment = () => ({ SALLYPORT_HOME: join(command.home, 'state'), NO_COLOR: '1' });
const givenBack = '\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l';

/** Again as long as nobody watches; then it waits for its answer. */
const askFor = (path: string): Promise<string> =>
  eventually(
    async () => {
      const url = `http://asked.example${path}`;
      const args = ['-sS', '--max-time', '25', '-x', gateway.proxyUrl, '-w', ' %{http_code}', url];
      const { stdout } = await runClient('curl', args);
      return stdout.includes('approval.unwatched') ? null : stdout;
    },
    `${path} is asked about`,
    20_000,
  );

const waitsFor = (path: string): Promise<boolean> =>
  eventually(async () => (await command.run(['approve', '--json'])).stdout.includes(path), `${path} waits`);

test('a question is selected and approved, another denied, and quitting leaves the screen as it was', async () => {
  const watching = runAtTerminal(
    [process.execPath, main(), 'watch'],
    [
      { wait: 'WAITING FOR YOU (2)' },
      { resize: [30, 100] },
      { type: 'j' },
      // Without the blanks of the list behind it: the one that is selected, whole.
      { wait: 'asked.example/two\u001b[K' },
      { type: 'a' },
      { wait: 'approved once' },
      { wait: 'WAITING FOR YOU (1)' },
      { type: 'k' },
      { type: 'd' },
      { wait: 'denied' },
      { type: 'q' },
    ],
    { folder: command.home, environment: environment() },
  );
  const asking = Promise.all([askFor('/one'), waitsFor('/one').then(() => askFor('/two'))]);
  const [{ screen, code, missed }, answers] = await Promise.all([watching, asking.catch(() => [])]);
  expect([missed, code], screen).toEqual([null, 0]);
  expect(answers.map((answer) => answer.slice(-3))).toEqual(['403', '200']);
  expect(answers[0]).toContain('approval.denied');
  expect(reached).toEqual(['/two']);
  expect(screen).toContain('\u001b[?1049h');
  expect(screen.trimEnd().endsWith(givenBack)).toBe(true);
});

test('what ends it from outside finds the screen given back, too', async () => {
  const pidFile = join(command.home, 'watch.pid');
  const words = ['/bin/sh', '-c', `echo $$ > ${pidFile}; exec "$@"`, 'sh', process.execPath, main(), 'watch'];
  const watching = runAtTerminal(words, [{ wait: 'REQUESTS' }], { folder: command.home, environment: environment() });
  const pid = await eventually(() => readIfThere(pidFile), 'it runs');
  await eventually(() => catchesHangup(pid), 'it has taken the screen');
  process.kill(Number(pid), 'SIGTERM');
  const { screen, code, missed } = await watching;
  expect([missed, code], screen).toEqual([null, 128 + 15]);
  expect(screen.trimEnd().endsWith(givenBack)).toBe(true);
});

/** By the kernel's own list of the signals that a process handles; this one Node leaves alone by itself. */
function catchesHangup(pid: string): boolean {
  const mask = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid.trim()}/status`, 'utf8'))?.[1];
  return (BigInt(`0x${mask}`) & 1n) !== 0n;
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}
