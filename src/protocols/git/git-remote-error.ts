// The far side said no in the protocol: an `ERR` line, or text on band 3. A GitWireError, because whoever asked has no
// answer to go on and must refuse. Its words are the far side's, so they are made printable before they stand anywhere.
import { GitWireError } from './git-wire-error.ts';
import { printableText } from './printable-text.ts';

const MAX_TEXT = 1000;

export class GitRemoteError extends GitWireError {
  override readonly name = 'GitRemoteError';
  /** What the far side said, made printable and cut to a thousand characters. For the operator. */
  readonly remoteText: string;

  constructor(words: Buffer) {
    const text = printableText(words.toString('utf8').trim()).slice(0, MAX_TEXT);
    super('unsupported', `the git server answered with an error: ${text}`);
    this.remoteText = text;
  }
}
