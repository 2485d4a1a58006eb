// Ends a sandbox: asks its command to end, and when that has taken too long ends every process of it.
import type { RunningSandbox } from '../run/sandbox-plan.ts';

/** Resolves when every process of it is gone. */
export async function stopSandbox(
  sandbox: Pick<RunningSandbox, 'signal' | 'kill' | 'ended'>,
  graceMs: number,
): Promise<void> {
  const ended = sandbox.ended.then(
    () => true,
    () => true,
  );
  let timer: NodeJS.Timeout | undefined;
  if (graceMs > 0) {
    sandbox.signal('SIGTERM');
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), graceMs);
    });
    const inTime = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (inTime) return;
  }
  sandbox.kill();
  await ended;
}
