// A login in a file, a pretend token endpoint on loopback that takes every refresh token once, and processes that renew.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { eventually } from '../../support/eventually.ts';

export interface RenewingProcess {
  readonly child: ChildProcess;
  output(): string;
  readonly ended: Promise<void>;
  /** It renews from now on. */
  go(): void;
}

export interface RenewingGround {
  readonly file: string;
  readonly folder: string;
  /** The refresh token that is in force at the endpoint. */
  current(): string;
  /** Tokens that were sent to the endpoint and were not in force, or not the one in the file. */
  readonly faults: string[];
  exchanges(): number;
  refreshInFile(): string;
  /** The endpoint goes on from what is in the file. */
  takeFile(): void;
  /** When it resolves, the process is ready. */
  start(rounds: number): Promise<RenewingProcess>;
  close(): Promise<void>;
}

/** What must stay in the file, whatever happens: enough of it that a write is not over at once. */
export const bystanders = { OPENAI_API_KEY: null, kept: Array.from({ length: 2000 }, (_, i) => `item ${i}`) };

export async function startRenewingGround(): Promise<RenewingGround> {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-renewing-'));
  const folder = join(home, '.codex');
  const file = join(folder, 'auth.json');
  const driver = join(home, 'driver.mjs');
  mkdirSync(folder);
  buildSync({
    entryPoints: [fileURLToPath(new URL('./renewing-driver.ts', import.meta.url))],
    outfile: driver,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  let exchanges = 0;
  let current = 'refresh-0';
  const faults: string[] = [];
  const refreshInFile = (): string =>
    (JSON.parse(readFileSync(file, 'utf8')) as { tokens: { refresh_token: string } }).tokens.refresh_token;
  const write = (refresh: string): void => {
    const tokens = { access_token: accessToken(0), refresh_token: refresh, account_id: 'a' };
    writeFileSync(file, JSON.stringify({ ...bystanders, tokens }, null, 2), { mode: 0o600 });
  };
  write(current);
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { refresh_token: sent } = JSON.parse(Buffer.concat(pieces).toString()) as { refresh_token: string };
    response.setHeader('content-type', 'application/json');
    if (sent !== current || sent !== refreshInFile()) {
      faults.push(`${sent} was sent, ${current} is in force, ${refreshInFile()} is in the file`);
      response.statusCode = 400;
      response.end('{"error":"invalid_grant"}');
      return;
    }
    current = `refresh-${++exchanges}`;
    response.end(JSON.stringify({ access_token: accessToken(exchanges), refresh_token: current }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    file,
    folder,
    faults,
    refreshInFile,
    current: () => current,
    exchanges: () => exchanges,
    takeFile() {
      current = refreshInFile();
    },
    async start(rounds) {
      const child = spawn(process.execPath, [driver, home, endpoint, `${rounds}`], {
        env: { PATH: process.env.PATH ?? '' },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
      await eventually(() => text.includes('ready\n'), 'it is ready');
      return { child, output: () => text, ended, go: () => void child.stdin.write('go\n') };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A JWT that is good for an hour, a different one for every number. */
function accessToken(number: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1000) + 3600, number })}.c2ln`;
}
