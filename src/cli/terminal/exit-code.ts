// What the exit codes of every command mean, and which error leads to which. The contract with scripts: a new meaning
// is a new number, an old number is never given another meaning.
import { CommanderError } from 'commander';
import { AdminRefused, GatewayUnreachable } from '../../gateway/admin/admin-client.ts';
import { InsecurePlaceError } from '../../kit/files/secure-directory.ts';
import { systemSentence } from './system-error.ts';

export const exitCode = {
  ok: 0,
  failure: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  unproven: 5,
  undecided: 6,
  notStarted: 125,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

export const exitCodeHelp = `
Exit codes:
  0  done; or allowed
  1  it failed; or the journal is broken (\`audit verify\`)
  2  wrong usage, or an error in the configuration
  3  refused (\`check\`)
  4  the gateway cannot be reached
  5  no hole, but not everything is proven (\`redteam\`)
  6  undecided: it depends on a body that was not given (\`check\`)
  run  the exit code of the command; 125: the sandbox could not be started`;

/** A command ends with this: words for the person, a number for the script. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly exitCode: ExitCode;
  readonly hint: string;

  constructor(code: ExitCode, message: string, hint = '') {
    super(message);
    this.exitCode = code;
    this.hint = hint;
  }
}

export interface CommandVerdict {
  readonly code: ExitCode;
  /** Empty: everything has been said. */
  readonly message: string;
  readonly hint: string;
}

export function judgeError(error: unknown): CommandVerdict {
  if (error instanceof CommandFailed) return { code: error.exitCode, message: error.message, hint: error.hint };
  if (error instanceof GatewayUnreachable) {
    const hint = 'A run brings its own: sallyport run -- COMMAND. One that stays: sallyport up';
    return { code: exitCode.unreachable, message: error.message, hint };
  }
  if (error instanceof AdminRefused) {
    // 4xx about the form of what was asked is the caller's usage; the rest is a plain failure.
    const usage = error.status === 400 || error.status === 413 || error.status === 415;
    return { code: usage ? exitCode.usage : exitCode.failure, message: error.message, hint: error.hint };
  }
  if (error instanceof CommanderError) {
    // Commander has already printed its own message, and help and version are not errors.
    return { code: error.exitCode === 0 ? exitCode.ok : exitCode.usage, message: '', hint: '' };
  }
  // By its name: importing the class would load the YAML parser and the schema for every command.
  if (error instanceof Error && error.name === 'PolicyRejected') {
    return { code: exitCode.usage, message: `the configuration is not valid:\n${error.message}`, hint: '' };
  }
  if (error instanceof Error && error.name === 'UntrustedConfig' && 'hint' in error) {
    return { code: exitCode.usage, message: error.message, hint: String(error.hint) };
  }
  if (error instanceof InsecurePlaceError) return { code: exitCode.usage, message: error.message, hint: '' };
  const system = systemSentence(error);
  if (system !== null) return { code: exitCode.failure, message: system.message, hint: system.hint };
  // Errors of other rooms say what to do in `hint`.
  const hint = error instanceof Error && 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
  return { code: exitCode.failure, message: error instanceof Error ? error.message : String(error), hint };
}
