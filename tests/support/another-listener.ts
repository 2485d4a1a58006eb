// What looks to this machine like another gateway of the user: a process that holds an admin socket, and listens on TCP.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterThisFile } from './after-this-file.ts';

export interface OtherGateway {
  readonly port: number;
  /** How many have come to it, as far as it has said so. */
  accepted(): number;
}

export async function startOtherGateway(port = 0): Promise<OtherGateway> {
  const script = `
    const net = require('node:net');
    net.createServer().listen(process.argv[1], () => {
      const tcp = net.createServer((socket) => { console.log('came'); socket.end('hello\\n'); });
      tcp.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('at ' + tcp.address().port));
    });`;
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-other-'));
  const child = spawn(process.execPath, ['-e', script, join(folder, 'admin.sock'), String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  afterThisFile(async () => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(child.stdout, 'data');
  return {
    port: Number(/at (\d+)/.exec(said)![1]),
    accepted: () => said.split('came').length - 1,
  };
}
