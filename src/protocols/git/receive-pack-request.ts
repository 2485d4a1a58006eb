// The first part of a push, before its pack: commands, capabilities, certificate, push options. Read incrementally and
// strictly, because the gateway judges what it reads here while the server acts on the same bytes: whatever git might
// read in another way is refused. Never reads into the pack; its first bytes are handed on.
import { GitWireError, OtherObjectFormat } from './git-wire-error.ts';
import { PktReader } from './pkt-line.ts';
import { PushCertificate } from './push-certificate.ts';
import { CommandList, isDeletion, type PushCommand } from './push-command.ts';
import { decodeText, isObjectId } from './ref-name.ts';

export interface ReceivePackRequest {
  /** Empty for the `0000` probe that git sends before a large push. */
  readonly commands: readonly PushCommand[];
  /** As sent, e.g. `report-status`, `agent=git/2.39.5`. */
  readonly capabilities: ReadonlySet<string>;
  readonly unknownCapabilities: readonly string[];
  readonly agent: string | null;
  readonly pushOptions: readonly string[];
  /** Commits whose parents the client does not have. */
  readonly shallow: readonly string[];
  readonly signed: boolean;
  /** False when every command is a deletion: then nothing may follow. */
  readonly packFollows: boolean;
  /** Bytes of the command section: where the pack begins in the body. */
  readonly sectionBytes: number;
  /** The first bytes of the pack, as far as they were fed. */
  readonly rest: Buffer;
}

const MAX_SECTION_BYTES = 4 * 1024 * 1024;
const MAX_PUSH_OPTIONS = 1000;
const LF = 0x0a;
const BYTES_WITHOUT_PACK = 'bytes after the commands of a push that carries no pack';

export class ReceivePackRequestReader {
  readonly #lines = new PktReader('v0');
  readonly #commands = new CommandList();
  readonly #shallow: string[] = [];
  readonly #pushOptions: string[] = [];
  #capabilities: PushCapabilities | null = null;
  #certificate: PushCertificate | null = null;
  #part: 'commands' | 'push-options' | 'complete' = 'commands';
  #fedBytes = 0;
  #sectionBytes = 0;
  #refused = false;
  #result: ReceivePackRequest | null = null;

  /**
   * True when the command section is complete. Then, if a pack follows, the rest of the body is the caller's; if none
   * does, whatever else comes is to be fed here, where a single byte of it is refused. Once refused, always refused.
   */
  feed(chunk: Buffer): boolean {
    if (this.#result !== null) return this.#refuseMore(this.#result, chunk);
    if (this.#refused) throw new GitWireError('malformed', 'a push that was already refused goes on');
    this.#refused = true;
    const complete = this.#read(chunk);
    this.#refused = false;
    return complete;
  }

  #read(chunk: Buffer): boolean {
    this.#lines.add(chunk);
    this.#fedBytes += chunk.length;
    while (this.#part !== 'complete') {
      const line = this.#lines.next();
      if (line === null) break;
      this.#sectionBytes += line.kind === 'data' ? line.payload.length + 4 : 4;
      this.#limit(this.#sectionBytes);
      if (line.kind === 'data') this.#take(line.payload);
      else this.#endPart();
    }
    if (this.#part === 'complete') this.#result = this.#conclude();
    else this.#limit(this.#fedBytes);
    return this.#result !== null;
  }

  get result(): ReceivePackRequest {
    if (this.#result === null) throw new GitWireError('malformed', 'the push ends before its commands are complete');
    return this.#result;
  }

  #refuseMore({ packFollows }: ReceivePackRequest, chunk: Buffer): true {
    if (packFollows) throw new Error('the command section is complete; what follows is the pack');
    if (chunk.length > 0) throw new GitWireError('malformed', BYTES_WITHOUT_PACK);
    return true;
  }

  #limit(bytes: number): void {
    if (bytes <= MAX_SECTION_BYTES) return;
    throw new GitWireError('too-large', `more than ${MAX_SECTION_BYTES} bytes of commands in one push`);
  }

  #take(payload: Buffer): void {
    if (this.#part === 'push-options') this.#takePushOption(payload);
    else if (this.#certificate === null) this.#takeLine(payload);
    else if (this.#certificate.complete) throw new GitWireError('malformed', 'a line after the push certificate');
    else this.#certificate.add(payload);
  }

  #takeLine(payload: Buffer): void {
    const nul = payload.indexOf(0);
    if (nul >= 0) {
      // git takes a list from any line, and the last one holds; a client has no reason to send a second.
      if (this.#commands.commands.length > 0) {
        throw new GitWireError('malformed', 'a capability list after the first command of the push');
      }
      this.#capabilities = readCapabilities(
        decodeText(withoutNewline(payload.subarray(nul + 1)), 'the capability list'),
      );
    }
    const line = nul >= 0 ? payload.subarray(0, nul) : withoutNewline(payload);
    const text = line.subarray(0, 9).toString('latin1');
    if (text === 'push-cert') this.#startCertificate(line.length === text.length && nul >= 0);
    else if (text.startsWith('shallow ')) this.#takeShallow(line, nul >= 0);
    else this.#commands.add(line);
  }

  #startCertificate(wellFormed: boolean): void {
    // With its capability list, which nothing can have after a command, it also comes before any other command.
    if (!wellFormed) throw new GitWireError('malformed', 'a push certificate that does not begin the push');
    this.#certificate = new PushCertificate(this.#commands);
  }

  #takeShallow(line: Buffer, withCapabilities: boolean): void {
    const id = line.subarray('shallow '.length).toString('latin1');
    if (!isObjectId(id) || withCapabilities || this.#commands.commands.length > 0) {
      throw new GitWireError('malformed', 'a shallow line that is not an object id before the first command');
    }
    this.#shallow.push(id);
  }

  #takePushOption(payload: Buffer): void {
    const option = decodeText(withoutNewline(payload), 'a push option');
    if (option.includes('\n')) throw new GitWireError('malformed', 'a push option of more than one line');
    if (this.#pushOptions.length === MAX_PUSH_OPTIONS) {
      throw new GitWireError('too-large', `more than ${MAX_PUSH_OPTIONS} push options`);
    }
    this.#pushOptions.push(option);
  }

  /** Only a flush gets here: the reader refuses the other special lines outside version 2. */
  #endPart(): void {
    if (this.#certificate !== null && !this.#certificate.complete) {
      throw new GitWireError('malformed', 'the push certificate is cut short');
    }
    const optionsFollow = this.#part === 'commands' && this.#capabilities?.all.has('push-options') === true;
    this.#part = optionsFollow ? 'push-options' : 'complete';
  }

  #conclude(): ReceivePackRequest {
    const { commands } = this.#commands;
    const signed = this.#certificate !== null;
    if (signed && commands.length === 0) throw new GitWireError('malformed', 'a push certificate without commands');
    if (signed && !sameList(this.#certificate!.pushOptions, this.#pushOptions)) {
      throw new GitWireError('malformed', 'the push options are not those that the push certificate vouches for');
    }
    const packFollows = commands.some((command) => !isDeletion(command));
    const rest = this.#lines.rest();
    if (!packFollows && rest.length > 0) {
      throw new GitWireError('malformed', BYTES_WITHOUT_PACK);
    }
    const { all, unknown, agent } = this.#capabilities ?? noCapabilities;
    return {
      commands,
      capabilities: all,
      unknownCapabilities: unknown,
      agent,
      pushOptions: this.#pushOptions,
      shallow: this.#shallow,
      signed,
      packFollows,
      sectionBytes: this.#sectionBytes,
      rest,
    };
  }
}

/** git takes one line feed off the end of a line, and only one. */
function withoutNewline(line: Buffer): Buffer {
  return line.at(-1) === LF ? line.subarray(0, -1) : line;
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}

// What a client may ask for in the first line of a push. The list is read as git reads it where it matters, and refused
// where two servers could read it differently: git splits at any white space, and takes `name=anything` for `name`.
/** Every capability a client can send to receive-pack, and whether it carries a value. */
const knownCapabilities: ReadonlyMap<string, 'flag' | 'value'> = new Map([
  ['report-status', 'flag'],
  ['report-status-v2', 'flag'],
  ['delete-refs', 'flag'],
  ['ofs-delta', 'flag'],
  ['side-band', 'flag'],
  ['side-band-64k', 'flag'],
  ['quiet', 'flag'],
  ['atomic', 'flag'],
  ['push-options', 'flag'],
  ['no-thin', 'flag'],
  ['agent', 'value'],
  ['session-id', 'value'],
  ['object-format', 'value'],
]);

interface PushCapabilities {
  /** As they were sent, e.g. `report-status`, `agent=git/2.39.5`. */
  readonly all: ReadonlySet<string>;
  readonly unknown: readonly string[];
  readonly agent: string | null;
}

const noCapabilities: PushCapabilities = { all: new Set(), unknown: [], agent: null };

const printable = /^[\x20-\x7e]*$/;

function readCapabilities(text: string): PushCapabilities {
  if (!printable.test(text)) throw new GitWireError('malformed', 'a capability list that is not printable ASCII');
  const all = new Set<string>();
  const names = new Set<string>();
  const unknown: string[] = [];
  let agent: string | null = null;
  for (const word of text.split(' ')) {
    if (word === '') continue;
    const equals = word.indexOf('=');
    const name = equals < 0 ? word : word.slice(0, equals);
    const value = equals < 0 ? null : word.slice(equals + 1);
    if (names.has(name)) throw new GitWireError('malformed', 'a capability is named twice');
    names.add(name);
    all.add(word);
    const form = knownCapabilities.get(name);
    if (form === undefined) unknown.push(word);
    else if ((form === 'value') !== (value !== null)) {
      throw new GitWireError('malformed', `the capability ${name} ${form === 'flag' ? 'takes no' : 'needs a'} value`);
    }
    if (name === 'agent') agent = value;
    // The ids below would be of another length, and our reading of the pack is of SHA-1 objects.
    if (name === 'object-format' && value !== 'sha1') {
      throw new OtherObjectFormat();
    }
  }
  return { all, unknown, agent };
}
