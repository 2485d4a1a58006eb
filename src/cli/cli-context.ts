// What a command may touch: streams, environment, the places of the gateway and its admin socket. Handed to every
// command, so that a test can run one without a terminal, and nothing reaches for globals.
import type { Readable } from 'node:stream';
import picocolors from 'picocolors';
import { type AdminCaller, EveryGateway } from '../gateway/admin/every-gateway.ts';
import { findHome, type Places, placesIn } from '../kit/files/home.ts';
import { pathOutside } from '../kit/process/path-outside.ts';
import { exitCode } from './terminal/exit-code.ts';

type Colors = ReturnType<typeof picocolors.createColors>;

/** Standard input; the raw mode of a terminal is used to read a secret without showing it. */
export type Input = Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };

export interface CliContext {
  readonly env: NodeJS.ProcessEnv;
  /** PATH as the user has it, for what runs in a sandbox; that of `env` is for programs of our own. */
  readonly userPath: string;
  readonly cwd: string;
  readonly places: Places;
  /** Not touched unless it is asked for: it may belong to a command in a sandbox. */
  readonly stdin: Input;
  /** Somebody reads what is said. */
  readonly isTerminal: boolean;
  readonly colors: Colors;
  /** All gateways of the user. */
  readonly admin: AdminCaller;
  /** Data: what a script reads. */
  print(text: string): void;
  /** Before more of what may be long: whoever reads it slowly must not have it wait in our memory. */
  untilTaken(): Promise<void>;
  /** Everything said to a person beside the data. */
  say(text: string): void;
  /** What the process ends with unless the command throws. */
  exitCode: number;
}

export interface ContextParts {
  readonly env: NodeJS.ProcessEnv;
  /** Default: PATH of `env`. */
  readonly userPath?: string;
  readonly cwd: string;
  readonly stdin: Input;
  readonly stdout: {
    write(text: string): unknown;
    readonly isTTY?: boolean;
    readonly writableNeedDrain?: boolean;
    once?(event: 'drain', act: () => void): unknown;
  };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
}

/**
 * Takes out of PATH what lies where we stand: a sandbox has written there, or will, and no program of our own may come from
 * it. Returns PATH as it was, which is what the command in a sandbox gets. Not in /, where services and containers stand: it
 * is never a project, and nothing would be left.
 */
export function takePath(env: NodeJS.ProcessEnv, cwd: string): string {
  const path = env.PATH ?? '';
  env.PATH = pathOutside(path, cwd === '/' ? [] : [cwd]);
  return path;
}

export function createContext(parts: ContextParts): CliContext {
  const { env, stdout, stderr } = parts;
  const places = placesIn(findHome(env));
  // https://no-color.org: any value that is not empty turns colour off.
  const plain = env.NO_COLOR !== undefined && env.NO_COLOR !== '';
  return {
    env,
    userPath: parts.userPath ?? env.PATH ?? '',
    cwd: parts.cwd,
    places,
    get stdin() {
      return parts.stdin;
    },
    isTerminal: stderr.isTTY === true,
    colors: picocolors.createColors(stdout.isTTY === true && !plain),
    admin: new EveryGateway(places.home),
    print: (text) => stdout.write(`${text}\n`),
    untilTaken: async () => {
      if (stdout.writableNeedDrain === true) await new Promise<void>((resolve) => stdout.once?.('drain', resolve));
    },
    say: (text) => stderr.write(`${text}\n`),
    exitCode: exitCode.ok,
  };
}
