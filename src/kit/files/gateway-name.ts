// The name of a gateway among others, made on its first start and kept beside its state: what it registered is its own
// also after a restart. Says on which machine it runs; means nothing to anybody else.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { writeFileAtomically } from './atomic-file.ts';

const shape = /^[A-Za-z0-9._-]{1,64}$/;

export async function openGatewayName(path: string, host: string = hostname()): Promise<string> {
  let kept: string;
  try {
    kept = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    const made = `${host.replace(/[^A-Za-z0-9-]/g, '-').slice(0, 40) || 'gateway'}-${randomBytes(4).toString('hex')}`;
    await writeFileAtomically(path, `${made}\n`, 0o600);
    return made;
  }
  if (shape.test(kept)) return kept;
  throw new Error(
    `${path} does not hold the name of a gateway (letters, digits, . _ and -): write one into it, or remove the file and have another made`,
  );
}
