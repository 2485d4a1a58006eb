// Walks what an operation selects, type by type, with the table of types: no path may lead out of the repositories of the
// sandbox. Every field must be in the table; where a thing may be in another repository only its facts can be seen.
// Conditions (@include, @skip) are taken as met. // Guards: threats.md T8
import {
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql/language/index.js';
import type { GithubEffect } from '../../../../path/github-effects.ts';
import type { AuthMode } from '../../../../path/sandbox.ts';
import { effectNotAllowed } from '../demand-effect.ts';
import type { GraphqlType, GraphqlTypes, View } from './graphql-types.ts';
import { notJudged } from './refuse-graphql.ts';

export interface SelectionPlace {
  readonly type: string;
  readonly view: View;
  /** Whether it is the very thing that was bound to a repository of the sandbox, not one that it leads to. */
  readonly bound: boolean;
}

/** How deep fragments may stand in fragments: the walk is recursive. */
const maxOpenFragments = 30;

export class SelectionWalk {
  readonly #types: GraphqlTypes;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #effects: ReadonlySet<GithubEffect>;
  readonly #mode: AuthMode;
  readonly #open = new Set<string>();
  readonly #done = new Set<string>();

  constructor(
    types: GraphqlTypes,
    fragments: ReadonlyMap<string, FragmentDefinitionNode>,
    effects: ReadonlySet<GithubEffect>,
    mode: AuthMode,
  ) {
    this.#types = types;
    this.#fragments = fragments;
    this.#effects = effects;
    this.#mode = mode;
  }

  /** The fields at the root of an operation, out of all fragments. */
  rootFields(selectionSet: SelectionSetNode, root: string): FieldNode[] {
    const fields: FieldNode[] = [];
    this.#each(
      selectionSet.selections,
      root,
      (field) => fields.push(field),
      (type) => {
        if (type !== root) throw notJudged(`a fragment on ${type} stands where ${root} is`);
        return root;
      },
    );
    return fields;
  }

  /** Throws for the first thing that may not be selected. */
  selects(field: FieldNode, place: SelectionPlace): void {
    if (field.selectionSet === undefined) throw notJudged(`${field.name.value} needs a selection of fields`);
    this.#walk(field.selectionSet.selections, place);
  }

  #walk(selections: readonly SelectionNode[], place: SelectionPlace): void {
    const type = this.#typeOf(place);
    this.#each(
      selections,
      place,
      (field, at) => this.#field(field, at === place ? type : this.#typeOf(at), at),
      (name, at) => ({ ...at, type: name, view: this.#viewInside(name, at) }),
    );
  }

  #field(field: FieldNode, type: GraphqlType, place: SelectionPlace): void {
    const name = field.name.value;
    if (name === '__typename') return;
    const inView = place.view === 'full' || type.facts === null || type.facts.has(name);
    if (inView && type.leaves.has(name)) {
      if (field.selectionSet !== undefined) throw notJudged(`${type.name}.${name} has no fields to select`);
      return;
    }
    const edge = type.edges.get(name);
    if (!inView || edge === undefined) throw notInView(type, name, place);
    this.selects(field, { type: edge.type, view: place.view === 'ref' ? 'ref' : edge.view, bound: false });
  }

  /** A repository is seen whole only where it was bound; where something merely leads to one, it may be another. */
  #viewInside(type: string, place: SelectionPlace): View {
    if (type === 'Query' || type === 'Mutation') throw notJudged(`a fragment on ${type} stands below the root`);
    return type === 'Repository' && !place.bound ? 'ref' : place.view;
  }

  #typeOf({ type: name }: SelectionPlace): GraphqlType {
    const type = this.#types.get(name);
    if (type === undefined) {
      throw notJudged(`the type ${name} is not one that a sandbox may select`);
    }
    if (type.sensitive && !this.#effects.has('read-sensitive')) {
      throw effectNotAllowed('read-sensitive', `selecting ${name}`, this.#mode);
    }
    return type;
  }

  /** Every field of a selection, in fragments too. A fragment is judged once for each place it stands in. */
  #each<At>(
    selections: readonly SelectionNode[],
    at: At,
    field: (field: FieldNode, at: At) => void,
    inside: (type: string, at: At) => At,
  ): void {
    for (const selection of selections) {
      refuseDirectives(selection);
      if (selection.kind === Kind.FIELD) {
        field(selection, at);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const type = selection.typeCondition?.name.value;
        this.#each(selection.selectionSet.selections, type === undefined ? at : inside(type, at), field, inside);
      } else {
        this.#spread(selection.name.value, at, field, inside);
      }
    }
  }

  #spread<At>(
    name: string,
    at: At,
    field: (field: FieldNode, at: At) => void,
    inside: (type: string, at: At) => At,
  ): void {
    const fragment = this.#fragments.get(name);
    if (fragment === undefined) throw notJudged(`the fragment ${name} is not defined`);
    if (this.#open.has(name)) throw notJudged(`the fragment ${name} contains itself`);
    if (this.#open.size >= maxOpenFragments) throw notJudged('fragments stand in fragments too deep');
    refuseDirectives(fragment);
    const place = inside(fragment.typeCondition.name.value, at);
    const key = `${name} ${JSON.stringify(place)}`;
    if (this.#done.has(key)) return;
    this.#open.add(name);
    this.#each(fragment.selectionSet.selections, place, field, inside);
    this.#open.delete(name);
    this.#done.add(key);
  }
}

/** Only the two that leave something out; any other could mean anything. */
export function refuseDirectives(node: {
  readonly directives?: readonly { readonly name: { value: string } }[];
}): void {
  const other = node.directives?.find(({ name }) => name.value !== 'include' && name.value !== 'skip');
  if (other !== undefined) throw notJudged(`the directive @${other.name.value} is not understood`);
}

function notInView(type: GraphqlType, field: string, place: SelectionPlace): Error {
  const known = type.leaves.has(field) || type.edges.has(field);
  if (known && place.view === 'ref') {
    const seen = [...(type.facts ?? [])].sort().join(', ') || 'nothing';
    const message = `${type.name}.${field} cannot be selected here: this ${type.name} may be in another repository`;
    return notJudged(message, `Select only: ${seen}. Or ask for it by repository(owner, name) of this sandbox.`);
  }
  const why =
    type.closed.has(field) || type.facts === null ? 'leads out of the repositories of the sandbox' : 'is not known';
  return notJudged(`${type.name}.${field} cannot be selected: it ${why}`, 'Leave this field out.');
}
