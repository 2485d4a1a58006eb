// Placeholders where the policy wants them (`credentials.NAME.placeholder`): variables, and files in the home of the sandbox.
// Nothing here is secret: the gateway puts the real credential where the policy says that it goes.
import { placeholderFor } from '../../kit/text/placeholder.ts';
import type { AgentStub } from './agent-stubs.ts';
import { usualPrefix } from './placeholders.ts';

export interface OwnPlaceholder {
  readonly credential: string;
  readonly variables: readonly string[];
  /** `path` is below the home; in `text`, `{placeholder}` stands for the placeholder. */
  readonly file: { readonly path: string; readonly text: string } | null;
  /** Null: as it is usual for the credential. */
  readonly prefix: string | null;
}

export function ownVariables(placeholders: readonly OwnPlaceholder[]): Record<string, string> {
  return Object.fromEntries(
    placeholders.flatMap((one) => one.variables.map((variable) => [variable, textOf(one)] as const)),
  );
}

export function ownFiles(placeholders: readonly OwnPlaceholder[]): AgentStub[] {
  return placeholders.flatMap((one) =>
    one.file === null
      ? []
      : [{ path: one.file.path, text: one.file.text.replaceAll('{placeholder}', textOf(one)), mode: 0o600 }],
  );
}

function textOf({ credential, prefix }: OwnPlaceholder): string {
  return placeholderFor(credential, prefix ?? usualPrefix(credential));
}
