// What `run:` of the configuration says is put under what the command line says: lists are added to, everything else gives way.
import { resolve } from 'node:path';
import { SavedChoicesWrong } from '../../policy/load/saved-choices.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';

export interface WithChoices<T> {
  readonly options: T;
  /** What came from the file, for the start lines; null: nothing. */
  readonly said: string | null;
}

/** `file`: null where none is followed. */
export async function addSavedChoices<T extends object>(given: T, file: string | null): Promise<WithChoices<T>> {
  if (file === null) return { options: given, said: null };
  const { readSavedChoices } = await import('../../policy/load/saved-choices.ts');
  const choices = await readSavedChoices(file).catch((error: unknown) => {
    if (!(error instanceof SavedChoicesWrong)) throw error;
    throw new CommandFailed(exitCode.notStarted, `the configuration is not valid:\n${error.message}`);
  });
  const options: Record<string, unknown> = Object.fromEntries(Object.entries(given));
  const said: string[] = [];
  for (const { key, option, merge, value } of choices) {
    const own = options[option];
    if (merge === 'replace') {
      if (own !== undefined) continue;
      options[option] = value;
      said.push(`${key}: ${String(value)}`);
      continue;
    }
    const saved = (Array.isArray(value) ? value : [value]).map(String);
    const more = saved.filter((one) => !isReplaced(key, one, Array.isArray(own) ? own.map(String) : []));
    if (more.length === 0) continue;
    options[option] = [...more, ...(Array.isArray(own) ? own : [])];
    // A value may be nobody's business who looks at the screen.
    said.push(`${key}: ${(key === 'env' ? more.map(nameOf) : more).join(', ')}`);
  }
  const text = said.length === 0 ? null : `${said.join('; ')} (run: of ${resolve(file)})`;
  return { options: options as T, said: text };
}

/** By the command line: the same thing said again, or another value for the same variable or place. */
function isReplaced(key: string, saved: string, own: readonly string[]): boolean {
  if (own.includes(saved)) return true;
  const targetOf = (text: string): string => text.split(':').at(-1)!;
  if (key === 'env' || key === 'caches') return own.some((one) => nameOf(one) === nameOf(saved));
  return (key === 'mounts' || key === 'read_only') && own.some((one) => targetOf(one) === targetOf(saved));
}

function nameOf(variable: string): string {
  return variable.slice(0, `${variable}=`.indexOf('='));
}
