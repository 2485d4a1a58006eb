// Runs the system's own programs (nft, ip, nsenter, unshare): by absolute path, with nothing of our environment, within a
// time. What goes into a ruleset goes in by standard input, never by a file or a command line.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { FirewallError } from './pin.ts';

/** Programs of the system only: what runs here runs as root. */
const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin'];
const timeoutMs = 10_000;
const packages: Readonly<Record<string, string>> = {
  nft: 'nftables',
  ip: 'iproute2',
  nsenter: 'util-linux',
  unshare: 'util-linux',
};

export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** What it wrote to standard error. */
  readonly complaint: string;

  constructor(program: string, complaint: string) {
    super(`${program}: ${complaint.trim().split('\n')[0] || 'failed without a word'}`);
    this.complaint = complaint;
  }
}

/** Its standard output. Rejects with a CommandError when it fails, with a FirewallError when it is not there. */
export function runSystem(program: string, args: readonly string[], input = ''): Promise<string> {
  const path = findProgram(program);
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      env: { PATH: folders.join(':'), LC_ALL: 'C' },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const output: Buffer[] = [];
    const complaint: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => complaint.push(chunk));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(output).toString('utf8'));
      const said = Buffer.concat(complaint).toString('utf8');
      reject(new CommandError(program, said || `ended with ${signal ?? `code ${code}`}`));
    });
    // It may end before it has read everything; what it says then is what counts.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function findProgram(name: string): string {
  for (const folder of folders) {
    const file = `${folder}/${name}`;
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // In another folder, perhaps.
    }
  }
  throw new FirewallError(`${name} is not installed`, `Install ${packages[name] ?? name}.`);
}
