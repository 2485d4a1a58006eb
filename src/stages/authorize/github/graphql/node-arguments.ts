// Finds every node id in the input of a mutation, by the table of input types, wherever it is nested. A value of another
// form than the table says is refused: it could be read as an id by GitHub and not by us.
import type { GraphqlInputs, InputField } from './graphql-inputs.ts';
import { readNodeId } from './node-id.ts';
import { notJudged, notTied } from './refuse-graphql.ts';

// References to people and teams: they are named, nothing of theirs is changed or shown. A bot that is made an assignee
// begins to work, so bots are not among them.
const accountArguments = new Set(['assigneeIds', 'userIds', 'teamIds']);

/** The ids that must be tied to a repository. */
export function nodeIdsOf(mutation: string, input: unknown, inputs: GraphqlInputs): string[] {
  const fields = inputs.ofMutation(mutation);
  if (fields === null) throw notJudged(`the input of ${mutation} is not known`);
  const ids: string[] = [];
  collect(fields, input, `${mutation}.input`, inputs, ids);
  return ids;
}

function collect(
  fields: ReadonlyMap<string, InputField>,
  value: unknown,
  path: string,
  inputs: GraphqlInputs,
  ids: string[],
): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notJudged(`${path} is not an object`);
  for (const [name, inner] of Object.entries(value)) {
    const field = fields.get(name);
    const place = `${path}.${name}`;
    if (field === undefined) throw notJudged(`${place} is not known`, 'Leave this field out.');
    if (field.type === null || inner === null) continue;
    // One value stands for a list of one.
    if (Array.isArray(inner) && !field.isList) throw notJudged(`${place} is a list`);
    for (const item of Array.isArray(inner) ? inner : [inner]) {
      if (field.type === 'ID') collectId(name, item, place, ids);
      else collect(inputs.ofType(field.type)!, item, place, inputs, ids);
    }
  }
}

function collectId(name: string, value: unknown, place: string, ids: string[]): void {
  const id = requireNodeId(value, place);
  if (readNodeId(id)!.isPerson && accountArguments.has(name)) return;
  ids.push(id);
}

/** A string in one of the forms of GitHub's ids; a number would be read as one too. */
export function requireNodeId(value: unknown, place: string): string {
  if (typeof value === 'string' && readNodeId(value) !== null) return value;
  throw notTied(`${place} is not the id of a node`);
}
