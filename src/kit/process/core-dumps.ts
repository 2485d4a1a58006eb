// Closes the ways by which the memory of this process, where credentials are, gets into files or to other processes of the
// same user: core dumps, ptrace and /proc/PID/mem, Node's debugger, heap snapshots and reports. What cannot be closed is
// refused in words. Never touches what children inherit but the limit of their core files, which they may raise again.
import inspector from 'node:inspector';
import koffi from 'koffi';

/** What the kernel and Node say now, not what was once asked of them. */
export interface SealReport {
  readonly live: boolean;
  readonly detail: string;
}

export class MemoryOpen extends Error {
  override readonly name = 'MemoryOpen';
  readonly hint: string;

  constructor(setting: string, what: string) {
    super(
      `Node was started with ${setting}, which ${what}: the gateway holds credentials and does not start like this`,
    );
    this.hint = `Start it without ${setting}.`;
  }
}

// linux/prctl.h, asm-generic/resource.h.
const PR_GET_DUMPABLE = 3;
const PR_SET_DUMPABLE = 4;
const RLIMIT_CORE = 4;
// Where `struct rlimit` is two words of 64 bits.
const wideLimits: ReadonlySet<string> = new Set(['x64', 'arm64', 'riscv64', 'loong64']);

interface Kernel {
  dumpable(): boolean;
  makeUndumpable(): void;
  /** Null: not known here. */
  coreLimit(): bigint | null;
  dropCoreLimit(): void;
}

let kernel: Kernel | null | undefined;

/** Throws MemoryOpen for an option of Node that lays the memory open. May be called again. */
export function sealMemory(): SealReport {
  refuseOpenings(process.execArgv, process.env);
  if (inspector.url() !== undefined) throw new MemoryOpen('a debugger', 'reads and changes its memory');
  // SIGUSR1 opens Node's debugger on a port of this machine, for every user of it, unless somebody listens to the signal.
  if (!process.listeners('SIGUSR1').includes(ignore)) process.on('SIGUSR1', ignore);
  if (process.report !== undefined) {
    // A report holds the environment.
    process.report.reportOnSignal = false;
    process.report.reportOnFatalError = false;
    process.report.reportOnUncaughtException = false;
  }
  loadKernel()?.makeUndumpable();
  loadKernel()?.dropCoreLimit();
  return readSeal();
}

/** Is the memory closed at this moment? */
export function readSeal(): SealReport {
  const asked = loadKernel();
  const open: string[] = [];
  if (asked === null) open.push('the kernel could not be asked to keep it out of core dumps');
  else if (asked.dumpable()) open.push('it can be dumped and traced');
  if ((asked?.coreLimit() ?? 0n) !== 0n) open.push('core files are not limited to nothing');
  if (inspector.url() !== undefined) open.push('a debugger listens');
  if (!process.listeners('SIGUSR1').includes(ignore)) open.push('SIGUSR1 starts a debugger');
  if (open.length > 0) return { live: false, detail: open.join('; ') };
  return { live: true, detail: 'no core dumps, no tracing, no debugger, no reports' };
}

/** Options by which Node writes its memory, its environment or its traffic down, or hands them to others. */
const openings: readonly (readonly [option: RegExp, what: string])[] = [
  [/^--inspect(?:-brk|-wait)?$/, 'opens a debugger'],
  [/^--report-(?:on-fatalerror|on-signal|uncaught-exception)$/, 'writes reports that hold the environment'],
  [/^--heapsnapshot-(?:signal|near-heap-limit)$/, 'writes its memory to a file'],
  [/^--heap-prof$/, 'writes parts of its memory to a file'],
  [/^--(?:tls-keylog|trace-tls)$/, 'writes down the keys of its connections'],
];

/** Exported for its test. */
export function refuseOpenings(execArgv: readonly string[], env: Readonly<Record<string, string | undefined>>): void {
  const inherited = (env.NODE_OPTIONS ?? '').split(/\s+/).map((word) => word.replaceAll('"', ''));
  for (const word of [...execArgv, ...inherited]) {
    // Node takes `_` for `-`.
    const name = word.split('=', 1)[0]!.replaceAll('_', '-');
    const opening = openings.find(([option]) => option.test(name));
    if (opening !== undefined) throw new MemoryOpen(name, opening[1]);
  }
  for (const name of ['NODE_DEBUG', 'NODE_DEBUG_NATIVE']) {
    if ((env[name] ?? '') !== '') throw new MemoryOpen(name, 'prints what goes over its connections');
  }
}

function ignore(): void {}

/** Null: this kernel cannot be asked. */
function loadKernel(): Kernel | null {
  if (kernel === undefined) kernel = process.platform === 'linux' ? openKernel() : null;
  return kernel;
}

function openKernel(): Kernel | null {
  try {
    const libc = koffi.load(null);
    const prctl = libc.func(
      'int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)',
    );
    const getLimit = libc.func('int getrlimit(int resource, _Out_ uint64_t *limit)');
    const setLimit = libc.func('int setrlimit(int resource, const uint64_t *limit)');
    const limits = (): BigUint64Array | null => {
      const both = new BigUint64Array(2);
      return wideLimits.has(process.arch) && Number(getLimit(RLIMIT_CORE, both)) === 0 ? both : null;
    };
    return {
      // 2: root alone may read the dump, but there is one.
      dumpable: () => Number(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) !== 0,
      makeUndumpable: () => void prctl(PR_SET_DUMPABLE, 0, 0, 0, 0),
      coreLimit: () => limits()?.[0] ?? null,
      dropCoreLimit() {
        const both = limits();
        if (both === null) return;
        both[0] = 0n;
        setLimit(RLIMIT_CORE, both);
      },
    };
  } catch {
    return null;
  }
}
