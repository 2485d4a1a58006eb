// One command of a push: move `ref` from one object to another. The ids and the name are all that a push says about
// what it does, so they are read in one form only. Never guesses at a line that is almost right.
import { GitWireError } from './git-wire-error.ts';
import { decodeText, isObjectId, isRefName, zeroId } from './ref-name.ts';

export interface PushCommand {
  /** All zeros: the ref is created. */
  readonly oldId: string;
  /** All zeros: the ref is deleted. */
  readonly newId: string;
  readonly ref: string;
}

/** From this many commands on nobody can have meant it as one push. */
const MAX_COMMANDS = 10_000;

export function isDeletion(command: PushCommand): boolean {
  return command.newId === zeroId;
}

/** The commands of one push, each ref at most once: of two commands for one ref, servers differ in which one holds. */
export class CommandList {
  readonly commands: PushCommand[] = [];
  readonly #refs = new Set<string>();

  add(line: Buffer): void {
    const command = readCommand(decodeText(line, 'a command of the push'));
    if (this.#refs.has(command.ref)) throw new GitWireError('malformed', 'two commands for the same ref in one push');
    if (this.commands.length === MAX_COMMANDS) {
      throw new GitWireError('too-large', `a push of more than ${MAX_COMMANDS} refs`);
    }
    this.#refs.add(command.ref);
    this.commands.push(command);
  }
}

function readCommand(text: string): PushCommand {
  const oldId = text.slice(0, 40);
  const newId = text.slice(41, 81);
  const ref = text.slice(82);
  if (!isObjectId(oldId) || text[40] !== ' ' || !isObjectId(newId) || text[81] !== ' ') {
    throw new GitWireError('malformed', 'a command of the push that is not "old new ref"');
  }
  if (!ref.startsWith('refs/') || !isRefName(ref)) {
    throw new GitWireError('malformed', 'a command of the push for something that is not the name of a ref');
  }
  if (oldId === zeroId && newId === zeroId) {
    throw new GitWireError('malformed', 'a command of the push that neither creates, moves nor deletes its ref');
  }
  return { oldId, newId, ref };
}
