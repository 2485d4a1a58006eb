// Takes out of a settings document whatever may be a credential: values by name and by shape, variables and header fields of MCP
// servers, programs that fetch a key. Says what it took, by its place and never by its value. Pure.
import { isReference, isSecretAddress, namesCredential, type SecretWords } from './secret-words.ts';

/** Where something was, such as `mcpServers.github.env.TOKEN`. */
export type LeftOut = string;

export interface Cleaned {
  readonly value: unknown;
  readonly leftOut: readonly LeftOut[];
}

export function cleanSettings(value: unknown, words: SecretWords): Cleaned {
  const cleaning = new Cleaning(words);
  return { value: cleaning.clean(value, [], 0) ?? {}, leftOut: cleaning.leftOut };
}

/** Deeper is nobody's settings. */
const maxDepth = 20;
/** They would ask for a key on the host, where they run; in a sandbox they only stand before the placeholder. */
const keyPrograms = new Set([
  'apiKeyHelper',
  'awsAuthRefresh',
  'awsCredentialExport',
  'otelHeadersHelper',
  'proxyAuthHelper',
]);
const serverLists = new Set(['mcpServers', 'mcp_servers', 'mcp']);
const variableMaps = new Set(['env', 'environment', 'set']);
const headerMaps = new Set(['headers', 'http_headers', 'httpHeaders', 'requestHeaders']);

class Cleaning {
  readonly leftOut: LeftOut[] = [];
  readonly #words: SecretWords;

  constructor(words: SecretWords) {
    this.#words = words;
  }

  /** Undefined: nothing of it may stay. */
  clean(value: unknown, path: readonly string[], depth: number): unknown {
    if (depth > maxDepth) return this.#without(path);
    if (typeof value === 'string') return this.#isSecret(value) ? this.#without(path) : value;
    if (Array.isArray(value)) return this.#cleanList(value, path, depth);
    return isMap(value) ? this.#cleanMap(value, path, depth) : value;
  }

  #cleanMap(map: Readonly<Record<string, unknown>>, path: readonly string[], depth: number): object {
    const kept: [string, unknown][] = [];
    for (const [key, value] of Object.entries(map)) {
      const at = [...path, key];
      let clean: unknown;
      if (keyPrograms.has(key) || this.#words.isInValue(key)) clean = this.#without(at);
      else if (serverLists.has(key) && isMap(value)) clean = this.#cleanServers(value, at, depth);
      else if (variableMaps.has(key) && isMap(value)) clean = this.#cleanNamed(value, at, isHarmlessVariable);
      else if (headerMaps.has(key) && isMap(value)) clean = this.#cleanNamed(value, at, () => false);
      else if (typeof value === 'string' && namesCredential(key) && !isReference(value)) clean = this.#without(at);
      else if (Array.isArray(value) && namesCredential(key)) clean = this.#without(at);
      else clean = this.clean(value, at, depth + 1);
      if (clean !== undefined) kept.push([key, clean]);
    }
    return Object.fromEntries(kept);
  }

  /** An option by whose name the next word is a credential takes that word with it. */
  #cleanList(list: readonly unknown[], path: readonly string[], depth: number): unknown[] {
    return list.flatMap((value, index) => {
      const before = list[index - 1];
      const at = [...path, String(index)];
      const isOption = typeof before === 'string' && /^--?[\w-]+$/.test(before) && namesCredential(optionName(before));
      const clean =
        isOption && typeof value === 'string' && !isReference(value)
          ? this.#without(at)
          : this.clean(value, at, depth + 1);
      return clean === undefined ? [] : [clean];
    });
  }

  /** Without a variable or a field it may still do; without a word of its command or its address it is nothing. */
  #cleanServers(servers: Readonly<Record<string, unknown>>, path: readonly string[], depth: number): object {
    const kept: [string, unknown][] = [];
    for (const [name, server] of Object.entries(servers)) {
      const at = [...path, name];
      const own = new Cleaning(this.#words);
      const clean = own.clean(server, at, depth + 1);
      const isWhole = own.leftOut.every((place) => {
        const [key] = place.slice(`${at.join('.')}.`.length).split('.');
        return key !== undefined && (variableMaps.has(key) || headerMaps.has(key));
      });
      if (!isWhole || this.#words.isInValue(name)) this.#without(at);
      else {
        this.leftOut.push(...own.leftOut);
        kept.push([name, clean]);
      }
    }
    return Object.fromEntries(kept);
  }

  /** Variables and header fields: what is not known to be harmless goes, whatever it looks like. */
  #cleanNamed(
    map: Readonly<Record<string, unknown>>,
    path: readonly string[],
    isHarmless: (name: string, value: string) => boolean,
  ): object {
    const kept = Object.entries(map).filter(([name, value]) => {
      const text =
        typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
      const stays = text !== null && (isReference(text) || isHarmless(name, text)) && !this.#isSecret(text);
      if (!stays) this.#without([...path, name]);
      return stays;
    });
    return Object.fromEntries(kept);
  }

  #isSecret(value: string): boolean {
    const option = /^(--?[\w-]+)=(.+)$/s.exec(value);
    if (option !== null && namesCredential(optionName(option[1]!)) && !isReference(option[2]!)) return true;
    return this.#words.isInValue(value) || isSecretAddress(value);
  }

  #without(path: readonly string[]): undefined {
    this.leftOut.push(path.join('.'));
  }
}

/** A switch, a number, a plain word, a place. */
function isHarmlessVariable(name: string, value: string): boolean {
  if (namesCredential(name)) return false;
  return (
    /^(?:true|false|on|off|yes|no|\d{1,9})$/i.test(value) ||
    /^[A-Za-z][A-Za-z.-]{0,31}$/.test(value) ||
    /^~?\/[\w./-]*$/.test(value) ||
    /^https?:\/\/[\w.-]+(?::\d+)?(?:\/[a-z0-9/.-]*)?$/i.test(value) ||
    /^(?:claude|gpt|gemini|o\d)-[\w.-]{1,48}$/.test(value)
  );
}

function optionName(option: string): string {
  return option.replace(/^-+/, '').replaceAll('-', '_');
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
