// The values of arguments as GitHub will see them: variables put in, defaults included. What could be read in two ways
// (an argument twice, a variable that is not declared) is refused.
import { type FieldNode, Kind, type OperationDefinitionNode, type ValueNode } from 'graphql/language/index.js';
import { notJudged } from './refuse-graphql.ts';

export type ArgumentValues = Readonly<Record<string, unknown>>;

/** What a variable without value and default is: the argument counts as not given. */
const missing = Symbol('missing');

export class VariableValues {
  readonly #values = new Map<string, unknown>();

  constructor({ variableDefinitions = [] }: OperationDefinitionNode, given: Readonly<Record<string, unknown>>) {
    for (const { variable, defaultValue } of variableDefinitions) {
      const name = variable.name.value;
      if (this.#values.has(name)) throw notJudged(`the variable $${name} is declared twice`);
      if (Object.hasOwn(given, name)) this.#values.set(name, given[name]);
      else this.#values.set(name, defaultValue === undefined ? missing : this.#plain(defaultValue, true));
    }
  }

  /** The arguments of a field. Those that are not given are not in it. */
  argumentsOf(field: FieldNode): ArgumentValues {
    const values: Record<string, unknown> = Object.create(null);
    for (const { name, value } of field.arguments ?? []) {
      if (Object.hasOwn(values, name.value)) throw notJudged(`the argument ${name.value} is given twice`);
      const plain = this.#plain(value, false);
      if (plain !== missing) values[name.value] = plain;
    }
    return values;
  }

  #plain(node: ValueNode, isConstant: boolean): unknown {
    switch (node.kind) {
      case Kind.VARIABLE:
        if (isConstant || !this.#values.has(node.name.value)) {
          throw notJudged(`the variable $${node.name.value} is not declared by its operation`);
        }
        return this.#values.get(node.name.value);
      case Kind.NULL:
        return null;
      case Kind.INT:
      case Kind.FLOAT:
        return Number(node.value);
      case Kind.LIST:
        return node.values.map((value) => {
          const plain = this.#plain(value, isConstant);
          return plain === missing ? null : plain;
        });
      case Kind.OBJECT: {
        const object: Record<string, unknown> = Object.create(null);
        for (const { name, value } of node.fields) {
          if (Object.hasOwn(object, name.value)) throw notJudged(`the field ${name.value} is given twice`);
          const plain = this.#plain(value, isConstant);
          if (plain !== missing) object[name.value] = plain;
        }
        return object;
      }
      default:
        return node.value;
    }
  }
}
