// What the attacker does with files, processes and programs. Runs inside the sandbox as text, not as a module: it must use
// nothing but its parameters and what `process` gives it (see inside-script.ts).
import type { Observation, ProbeHandlers } from '../probe.ts';

export type FileProbe =
  | 'read'
  | 'list'
  | 'readlink'
  | 'remove'
  | 'open'
  | 'write'
  | 'symlink'
  | 'environments'
  | 'search'
  | 'signal'
  | 'run';

export function insideFiles(): ProbeHandlers<FileProbe> {
  const fs = process.getBuiltinModule('node:fs');
  const { spawn } = process.getBuiltinModule('node:child_process');
  const maxBytes = 1024 * 1024;
  const maxFiles = 20_000;

  /** At most `maxBytes`: some of what is read here never ends. */
  function readSome(path: string): string {
    const file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(maxBytes);
      let length = 0;
      while (length < maxBytes) {
        const more = fs.readSync(file, bytes, length, Math.min(65_536, maxBytes - length), null);
        if (more === 0) break;
        length += more;
      }
      return bytes.toString('latin1', 0, length);
    } finally {
      fs.closeSync(file);
    }
  }

  function* filesBelow(folder: string): Generator<string> {
    let entries: import('node:fs').Dirent[] = [];
    try {
      entries = fs.readdirSync(folder, { withFileTypes: true });
    } catch {
      // What cannot be listed holds nothing for the attacker.
    }
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) yield* filesBelow(path);
      else if (entry.isFile()) yield path;
    }
  }

  function runProgram(
    argv: readonly string[],
    input: string,
    options: { cwd?: string; env: NodeJS.ProcessEnv },
  ): Promise<Partial<Observation>> {
    return new Promise((resolve) => {
      const [program = '', ...args] = argv;
      const child = spawn(program, args, { ...options, timeout: 12_000, killSignal: 'SIGKILL' });
      let text = '';
      const take = (chunk: Buffer): void => {
        if (text.length < maxBytes) text += chunk.toString('latin1');
      };
      child.stdout.on('data', take);
      child.stderr.on('data', take);
      child.stdin.on('error', () => {});
      child.stdin.end(Buffer.from(input, 'latin1'));
      child.on('error', (error: NodeJS.ErrnoException) => resolve({ error: error.code ?? error.message, text }));
      child.on('close', (exit) =>
        resolve({ exit, text, error: exit === 0 ? null : exit === null ? 'ended by a signal' : `exit ${exit}` }),
      );
    });
  }

  return {
    read: async ({ path }) => ({ text: readSome(path) }),
    list: async ({ path }) => ({ text: fs.readdirSync(path).join('\n') }),
    readlink: async ({ path }) => ({ text: fs.readlinkSync(path) }),
    remove: async ({ path }) => {
      // Not rmSync: in newer Nodes its errors do not say which one they are.
      fs.unlinkSync(path);
      return {};
    },
    open: async ({ path, flags }) => {
      fs.closeSync(fs.openSync(path, flags));
      return {};
    },
    write: async ({ path, text }) => {
      fs.writeFileSync(path, text);
      return {};
    },
    symlink: async ({ path, to }) => {
      fs.symlinkSync(to, path);
      return {};
    },
    signal: async ({ pid, signal }) => {
      process.kill(pid, signal);
      return {};
    },
    environments: async () => {
      let text = '';
      for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        try {
          for (const one of readSome(`/proc/${pid}/environ`).split('\0')) text += `${pid} ${one}\n`;
        } catch {
          text += `${pid} (not readable)\n`;
        }
      }
      return { text };
    },
    search: async ({ roots, pattern }) => {
      const wanted = new RegExp(pattern, 'g');
      let text = '';
      let looked = 0;
      for (const root of roots) {
        for (const path of filesBelow(root)) {
          if (looked++ > maxFiles) break;
          try {
            for (const [value] of readSome(path).matchAll(wanted)) text += `${path}: ${value}\n`;
          } catch {
            // Not readable: nothing there for the attacker.
          }
        }
      }
      return { text: `${text}looked at ${looked} files\n` };
    },
    run: ({ argv, input = '', cwd, env = {} }) =>
      runProgram(argv, input, { env: { ...process.env, ...env }, ...(cwd !== undefined && { cwd }) }),
  };
}
