import { join } from 'node:path';
import { runClient } from './run-client.ts';

/** How long a build may take: from nothing, with all of Go's own library, on a machine that does much else. */
const longestMs = 170_000;
export const goTestTimeoutMs = longestMs + 60_000;

/**
 * A program of one file. Not while everything here stands still, which is what waiting for it synchronously means; and what
 * was compiled for one test file serves the next.
 */
export async function buildGo(source: string, program: string): Promise<void> {
  const cache = join(process.env.SALLYPORT_TESTS!, 'go-cache');
  const env = { HOME: cache, GOCACHE: cache, CGO_ENABLED: '0' };
  const { code, stderr } = await runClient('go', ['build', '-o', program, source], { env, timeoutMs: longestMs });
  if (code !== 0) throw new Error(`go build (${code}): ${stderr}`);
}
