// What a start took and nobody needs any longer goes back to the system: a process that waits for sandboxes holds a third less.
// Done once, by timers that keep no process alive; while a process is busy V8 collects by itself.
import koffi from 'koffi';
import { exposedGc } from './young-bytes.ts';

/** When a start is over, and who was started for a moment is gone. */
const collectAfterMs = 2_000;
/** When V8, which a collection sets going, has made itself small: that takes it some 20 s, in pieces, when little happens. */
const trimAfterMs = 35_000;

/** Returns how to leave it. */
export function giveBackMemory(collectMs = collectAfterMs, trimMs = trimAfterMs): () => void {
  const timers = [setTimeout(collect, collectMs), setTimeout(trim, trimMs)];
  for (const timer of timers) timer.unref();
  return () => {
    for (const timer of timers) clearTimeout(timer);
  };
}

/** Without it, V8 sees no reason to begin: nothing is allocated any more. Takes some 40 ms. */
function collect(): void {
  exposedGc()?.();
}

/** What was freed outside V8 stays with the C library otherwise: a quarter of the memory of an idle gateway. */
function trim(): void {
  try {
    koffi.load(null).func('int malloc_trim(size_t pad)')(0);
  } catch {
    // musl has none.
  }
}
