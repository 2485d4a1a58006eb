// Tries the runtimes inside the sandbox, as one text for a POSIX shell: nothing else need be there. Says one line for each:
// what it is, how it ended, and the end of what it printed, in hex so that nothing in it can pose as a line of ours.
import { doctorHost, type Runtime, slugOf } from './runtimes.ts';

/** What the sandbox says of one runtime. */
export interface InsideLine {
  readonly slug: string;
  /** `absent`: no such program. `lacking`: something it needs is not there. */
  readonly ended: 'absent' | 'lacking' | number;
  readonly out: string;
  readonly err: string;
}

/** As `timeout` says it. */
export const timedOut = 124;
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** `lanes`: how many are tried at a time; `seconds`: how long each may take. */
export function insideScript(runtimes: readonly Runtime[], lanes: number, seconds: number): string {
  const shares = Array.from({ length: lanes }, (_, lane) => runtimes.filter((_one, i) => i % lanes === lane));
  return [
    'top=$PWD',
    // A pipe takes at most 4096 bytes in one piece: longer lines of two lanes would mix.
    'hex() { tail -c 800 "$1" | od -An -v -tx1 | tr -d " \\n"; }',
    `limit() { if command -v timeout >/dev/null 2>&1; then timeout ${seconds} "$@"; else "$@"; fi; }`,
    'try() {',
    '  command -v "$2" >/dev/null 2>&1 || { echo "$1 absent - -"; return; }',
    '  mkdir -p "$top/$1" && cd "$top/$1" || return',
    '  [ -z "$3" ] || limit sh -c "$3" >/dev/null 2>&1 </dev/null || { echo "$1 lacking - -"; return; }',
    `  URL=https://${doctorHost}/$1; export URL`,
    '  limit sh -c "$4" >out 2>err </dev/null; code=$?',
    '  printf "%s %s -%s -%s\\n" "$1" "$code" "$(hex out)" "$(hex err)"',
    '}',
    ...shares.map((share) => `( ${share.map(asCall).join('\n')}\n) &`),
    'wait',
  ].join('\n');
}

function asCall({ name, program, needs, script }: Runtime): string {
  return ['try', slugOf(name), quote(program), quote(needs?.test ?? ''), quote(script)].join(' ');
}

/** Null: not one of our lines. */
export function readLine(line: string): InsideLine | null {
  const parts = /^(\S+) (absent|lacking|\d+) -([0-9a-f]*) -([0-9a-f]*)$/.exec(line);
  if (parts === null) return null;
  const [, slug, ended, out, err] = parts as unknown as [string, string, string, string, string];
  const text = (hex: string): string => Buffer.from(hex, 'hex').toString();
  return {
    slug,
    ended: ended === 'absent' || ended === 'lacking' ? ended : Number(ended),
    out: text(out),
    err: text(err),
  };
}
