// A copy of the user's own settings of agents, without credentials, for the home of a sandbox. Reads plain files of the listed
// places alone, follows no link, waits for nobody, and says what it left out. // Guards: threats.md T119
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { parse as parseToml, stringify as writeToml } from 'smol-toml';
import { liesIn } from '../files/path-relations.ts';
import { cleanSettings } from './clean-settings.ts';
import { type SecretWords, secretWords } from './secret-words.ts';
import { loginFiles, type SettingsFile, type SettingsPlace, settingsPlaces } from './settings-places.ts';

export interface CopyOptions {
  readonly userHome: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Files that credentials come from: what is in them is looked for. */
  readonly credentialFiles: readonly string[];
}

export interface CopiedFile {
  /** Below the home. */
  readonly path: string;
  readonly text: string;
  readonly mode: number;
  readonly kind: SettingsFile['kind'];
}

export interface CopiedSettings {
  readonly files: readonly CopiedFile[];
  readonly notices: readonly string[];
}

const maxFileBytes = 256 * 1024;
const maxFiles = 500;
const maxBytes = 4 * 1024 ** 2;
const maxDepth = 6;
const maxNamed = 8;

export function copySettings({ userHome, environment, credentialFiles }: CopyOptions): CopiedSettings {
  const known = [...loginFiles.map((path) => join(userHome, path)), ...credentialFiles];
  const words = secretWords(
    known.flatMap((path) => readPlain(path, maxFileBytes).text ?? []),
    environment,
  );
  const copy = new SettingsCopy(words, userHome);
  for (const place of settingsPlaces) copy.take(place, rootOf(place, userHome, environment));
  return { files: copy.files, notices: copy.notices() };
}

function rootOf(place: SettingsPlace, home: string, environment: CopyOptions['environment']): string {
  const named = place.variable === undefined ? undefined : environment[place.variable];
  return named !== undefined && isAbsolute(named) ? named : join(home, place.root);
}

class SettingsCopy {
  readonly files: CopiedFile[] = [];
  readonly #words: SecretWords;
  readonly #home: string;
  readonly #taken = new Map<string, number>();
  readonly #leftOut: string[] = [];
  #bytes = 0;

  constructor(words: SecretWords, home: string) {
    this.#words = words;
    this.#home = home;
  }

  take(place: SettingsPlace, root: string): void {
    const found = lstatSync(root, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (found.isSymbolicLink() && !liesIn(realPath(root) ?? '/', this.#home)) {
      this.#leftOut.push(`~/${place.root} (a link out of your home)`);
      return;
    }
    for (const file of place.files) this.#takeFile(place, root, file.name, file);
    for (const folder of place.folders) this.#takeFolder(place, root, folder, 1);
  }

  notices(): string[] {
    const agents = [...this.#taken].map(([agent, count]) => `${agent} (${count} ${count === 1 ? 'file' : 'files'})`);
    const copied =
      agents.length === 0 ? 'no settings of agents were found to copy' : `settings copied: ${agents.join(', ')}`;
    const rest = this.#leftOut.length - maxNamed;
    const more = rest > 0 ? ` and ${rest} more` : '';
    return this.#leftOut.length === 0
      ? [copied]
      : [copied, `left out of your settings: ${this.#leftOut.slice(0, maxNamed).join(', ')}${more}`];
  }

  #takeFolder(place: SettingsPlace, root: string, name: string, depth: number): void {
    const path = join(root, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return;
    const why = found.isSymbolicLink()
      ? 'a link'
      : !found.isDirectory()
        ? 'no folder'
        : depth > maxDepth
          ? 'too deep'
          : null;
    if (why !== null) {
      this.#without(place, name, why);
      return;
    }
    for (const entry of entriesOf(path)) {
      const below = join(name, entry.name);
      // What begins with a dot is a program's own, or an .env.
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (entry.isDirectory()) this.#takeFolder(place, root, below, depth + 1);
      else this.#takeFile(place, root, below, { name: below, kind: 'text' });
    }
  }

  #takeFile(place: SettingsPlace, root: string, name: string, file: SettingsFile): void {
    const { text, mode, why } = readPlain(join(root, name), maxFileBytes);
    if (text === null) {
      if (why !== null) this.#without(place, name, why);
      return;
    }
    const made = this.#cleaned(place, file, text);
    if (made === null) return;
    // Once more as a whole: nothing depends on how it was read.
    const isTooMuch = this.files.length >= maxFiles || this.#bytes + made.length > maxBytes;
    if (isTooMuch || this.#words.isInText(made)) {
      this.#without(place, name, isTooMuch ? 'too much of it' : 'it may hold a credential');
      return;
    }
    this.#bytes += made.length;
    this.#taken.set(place.agent, (this.#taken.get(place.agent) ?? 0) + 1);
    this.files.push({ path: join(place.root, name), text: made, mode: 0o600 | (mode & 0o100), kind: file.kind });
  }

  /** Null: nothing of it is copied, and that is said. */
  #cleaned(place: SettingsPlace, { name, kind, keys }: SettingsFile, text: string): string | null {
    if (kind === 'text') return text;
    let value: unknown;
    try {
      value = kind === 'toml' ? parseToml(text) : JSON.parse(withoutComments(text));
    } catch {
      this.#without(place, name, 'it cannot be read');
      return null;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    const own = keys === undefined ? value : pick(value, keys);
    if (Object.keys(own).length === 0) return null;
    const { value: clean, leftOut } = cleanSettings(own, this.#words);
    for (const path of leftOut) this.#without(place, name, path);
    return kind === 'toml' ? writeToml(clean as Record<string, unknown>) : `${JSON.stringify(clean, null, 2)}\n`;
  }

  #without(place: SettingsPlace, name: string, why: string): void {
    this.#leftOut.push(`~/${join(place.root, name)} (${why})`);
  }
}

interface PlainFile {
  readonly text: string | null;
  readonly mode: number;
  /** Why there is no text; null: there is no file. */
  readonly why: string | null;
}

/** A regular file, not through a link, and never waiting: a pipe would keep us for ever. */
function readPlain(path: string, limit: number): PlainFile {
  const none = (why: string | null): PlainFile => ({ text: null, mode: 0, why });
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code === 'ENOENT' || code === 'ENOTDIR') return none(null);
    return none(code === 'ELOOP' ? 'a link' : 'it cannot be read');
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return none('no plain file');
    if (stat.size > limit) return none(`larger than ${limit / 1024} KiB`);
    const bytes = Buffer.alloc(limit + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length <= limit; length += got)
      got = readSync(file, bytes, length, limit + 1 - length, null);
    if (length > limit) return none(`larger than ${limit / 1024} KiB`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    return { text, mode: stat.mode, why: null };
  } catch {
    return none('no text');
  } finally {
    closeSync(file);
  }
}

function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true }).slice(0, maxFiles);
  } catch {
    return [];
  }
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function pick(value: object, keys: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => keys.includes(key)));
}

/** JSON as people write it for some agents: comments outside of strings, and a comma before the end of a list. */
export function withoutComments(text: string): string {
  const parts = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=\s*[}\]])/g;
  return text.replace(parts, (part) => (part.startsWith('"') ? part : ''));
}
