// A signed push: the commands stand inside a certificate, line by line, and those are the ones a server carries out.
// The signature is not checked here (the server does that); what counts is that no reader can find other commands
// in the same bytes: one certificate, one signature at its end, nothing but commands between.
import { GitWireError } from './git-wire-error.ts';
import type { CommandList } from './push-command.ts';
import { decodeText } from './ref-name.ts';

const LF = 0x0a;
const VERSION = 'certificate version 0.1';
/** Where git looks for the end of the commands; it takes the last such line, so there must be only one. */
const signatureStarts = [
  '-----BEGIN PGP SIGNATURE-----',
  '-----BEGIN PGP MESSAGE-----',
  '-----BEGIN SIGNED MESSAGE-----',
  '-----BEGIN SSH SIGNATURE-----',
];

export class PushCertificate {
  /** The push options the certificate vouches for. */
  readonly pushOptions: string[] = [];
  readonly #commands: CommandList;
  #part: 'version' | 'header' | 'commands' | 'signature' | 'end' = 'version';

  constructor(commands: CommandList) {
    this.#commands = commands;
  }

  /** True once `push-cert-end` was read. */
  get complete(): boolean {
    return this.#part === 'end';
  }

  /** One pkt-line of the certificate. git sends one line of text in each, with its line feed. */
  add(payload: Buffer): void {
    if (payload.indexOf(LF) !== payload.length - 1) throw malformed('a line that does not end where its pkt-line ends');
    const line = payload.subarray(0, -1);
    const text = decodeText(line, 'a line of the push certificate');
    if (text === 'push-cert-end') this.#end();
    else if (signatureStarts.some((start) => text.startsWith(start))) this.#startSignature();
    else this.#addTo(text, line);
  }

  #addTo(text: string, line: Buffer): void {
    switch (this.#part) {
      case 'version':
        if (text !== VERSION) throw malformed(`a first line other than "${VERSION}"`);
        this.#part = 'header';
        return;
      case 'header':
        if (text === '') this.#part = 'commands';
        else if (text.startsWith('push-option ')) this.pushOptions.push(text.slice('push-option '.length));
        return;
      case 'commands':
        this.#commands.add(line);
        return;
      default:
        // The signature itself: for the server to verify.
        return;
    }
  }

  #startSignature(): void {
    if (this.#part !== 'commands') throw malformed('a signature in the wrong place, or two of them');
    this.#part = 'signature';
  }

  #end(): void {
    if (this.#part !== 'signature') throw malformed('an end before its signature');
    this.#part = 'end';
  }
}

function malformed(what: string): GitWireError {
  return new GitWireError('malformed', `the push certificate has ${what}`);
}
