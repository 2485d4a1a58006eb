// The neighbour of the attacker: another sandbox of the same gateway, started the same way, and found again among the
// processes of the host, so that the attacker can be told its number.
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { StartedSandbox } from '../../sandbox/run/start-sandbox.ts';
import type { Neighbour } from './ground.ts';
import { neighbourScript } from './inside/neighbour-script.ts';
import { neighbourRepository } from './redteam-hosts.ts';

/** `visited` hears who was reached. */
export async function startNeighbour(
  start: (folder: string, script: string, registration: object) => Promise<StartedSandbox>,
  folder: string,
  visited: string[],
): Promise<Neighbour> {
  const abstractName = `redteam-neighbour-${process.pid}`;
  const sharedFile = `/dev/shm/${abstractName}`;
  const started = await start(folder, neighbourScript(abstractName, sharedFile, 'nothing secret'), {
    repos: [neighbourRepository],
  });
  const { stdout, stderr } = started.streams!;
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk.toString()}`.slice(-500);
  });
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: stdout })
      .on('line', (line) => {
        const said = JSON.parse(line) as { port?: number; visited?: string };
        if (said.port !== undefined) resolve(said.port);
        if (said.visited !== undefined) visited.push(said.visited);
      })
      .on('close', () => reject(new Error(`the neighbour has ended: ${errors}`)));
  });
  const { id, caCertificate: ca } = started.grant;
  return { id, pid: findProcess(abstractName), port, abstractName, sharedFile, ca };
}

/** The process itself, not those that started it: the one furthest inside. */
function findProcess(words: string): number {
  let found = { pid: 0, depth: 0 };
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      if (Number(name) === process.pid || !readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(words)) continue;
      const numbers = /^NSpid:\s*(.*)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1] ?? '';
      const depth = numbers.split(/\s+/).length;
      if (depth > found.depth) found = { pid: Number(name), depth };
    } catch {
      // It has ended meanwhile, or is somebody else's.
    }
  }
  return found.pid;
}
