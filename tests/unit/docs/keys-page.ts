// Writes docs/policy/keys.md out of the schema that checks the policy document: every key with its sentence, its default and
// an example.
import { policyJsonSchema } from '../../../src/policy/schema/json-schema.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Key {
  readonly place: string;
  readonly schema: Schema;
  /** Always, or of one kind of entry where there are several (`preset` or `host`). */
  readonly required: 'Required' | 'Required of its kind' | null;
}

const schema: Schema = policyJsonSchema();
const definitions = schema.definitions as Readonly<Record<string, Schema>>;

export function keysPage(): string {
  const sections = Object.entries(schema.properties as Record<string, Schema>).map(([name, section]) =>
    sectionOf(name, section, keysBelow(name, section)),
  );
  const source = definitions.source!;
  return [
    '# Keys of `sallyport.yaml`',
    '',
    'Made from the schema by `npm run docs`, and checked. `sallyport config schema` prints that schema for your editor.',
    '',
    '`[]` is an entry of a list, `*` a name that you choose. "Of its kind": one kind of entry needs it, where there are several (a',
    'preset or a host).',
    '',
    ...sections.flat(),
    ...sectionOf(
      'source',
      {
        description:
          'Where a value comes from, wherever a source is asked for. [secrets.md](../secrets.md) has examples.',
      },
      keysBelow('source', source),
    ),
  ]
    .join('\n')
    .replace(/\n+$/, '\n');
}

function sectionOf(name: string, section: Schema, keys: readonly Key[]): string[] {
  const head = [`## ${name}`, '', String(section.description), ''];
  return keys.length === 0 ? head : [...head, ...keys.map(itemOf), ''];
}

function itemOf({ place, schema: key, required }: Key): string {
  const [example] = (key.examples as unknown[] | undefined) ?? [];
  const byDefault = key.default === undefined || isEmptyMap(key.default) ? '' : ` Default: ${code(key.default)}.`;
  const more = `${required === null ? byDefault : ` ${required}.`}${example === undefined ? '' : ` Example: ${code(example)}.`}`;
  return `- \`${place}\`: ${meaningOf(key)}${more}`;
}

/** Its sentence, and the words that can be chosen from where they are few. */
function meaningOf(key: Schema): string {
  const words = [key, ...((key.anyOf as Schema[] | undefined) ?? [])].flatMap((one) => (one.enum as unknown[]) ?? []);
  const choice =
    words.length > 0 && words.length < 8 ? ` One of ${words.map((word) => `\`${word}\``).join(', ')}.` : '';
  return `${String(key.description)}${choice}`;
}

/** The keys of a map and of the maps below it. What several kinds of entry share is told once. */
function keysBelow(place: string, node: Schema, demand: Exclude<Key['required'], null> = 'Required'): Key[] {
  const found = new Map<string, Key>();
  const add = (keys: readonly Key[]): void => {
    for (const key of keys) if (!found.has(key.place)) found.set(key.place, key);
  };
  const required = (node.required as readonly string[] | undefined) ?? [];
  for (const [name, schema] of Object.entries((node.properties as Record<string, Schema>) ?? {})) {
    // The names of known credentials are those of the presets; what can be said of one is told under `*`.
    const at = place === 'credentials' ? 'credentials.*' : `${place}.${name}`;
    if (place !== 'credentials') add([{ place: at, schema, required: required.includes(name) ? demand : null }]);
    add(keysBelow(at, schema));
  }
  const kinds = (node.anyOf as Schema[] | undefined) ?? [];
  const severalKinds = kinds.filter(({ properties }) => properties !== undefined).length > 1;
  for (const one of kinds) add(keysBelow(place, one, severalKinds ? 'Required of its kind' : 'Required'));
  if (isSchema(node.items)) add(keysBelow(`${place}[]`, node.items));
  if (isSchema(node.additionalProperties)) add(keysBelow(`${place}.*`, node.additionalProperties));
  const refs = ((node.allOf as { $ref?: string }[] | undefined) ?? []).map(({ $ref }) => $ref?.split('/').at(-1));
  if (refs.includes('presetCredential')) add(keysBelow(place, definitions.presetCredential!));
  return [...found.values()];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmptyMap(value: unknown): boolean {
  return isSchema(value) && Object.keys(value).length === 0;
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value.trim() : JSON.stringify(value)}\``;
}
