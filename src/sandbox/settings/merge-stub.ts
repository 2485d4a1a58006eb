// Puts what an agent needs to start in a sandbox into the copy of the user's own file: of a setting that both have, the sandbox's
// counts, and a memory file has both texts.
import { parse as parseToml, stringify as writeToml } from 'smol-toml';
import type { AgentStub } from '../stubs/agent-stubs.ts';
import type { CopiedFile } from './copy-settings.ts';

/** All of the user's files, each with what the sandbox needs in it. */
export function mergeStubs(files: readonly CopiedFile[], stubs: readonly AgentStub[]): AgentStub[] {
  return files.map((file) => {
    const stub = stubs.find(({ path }) => path === file.path);
    return stub === undefined ? file : { ...file, text: mergedText(file, stub.text) };
  });
}

function mergedText({ kind, text }: CopiedFile, stub: string): string {
  if (kind === 'text') return `${text.trimEnd()}\n\n${stub}`;
  if (kind === 'json') return `${JSON.stringify(merged(JSON.parse(text), JSON.parse(stub)), null, 2)}\n`;
  return writeToml(merged(parseToml(text), parseToml(stub)) as Record<string, unknown>);
}

function merged(own: unknown, ours: unknown): unknown {
  if (!isMap(own) || !isMap(ours)) return ours;
  const both = Object.entries(ours).map(([key, value]) => [key, key in own ? merged(own[key], value) : value] as const);
  return { ...own, ...Object.fromEntries(both) };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
