// Makes one parsed document of a GraphQL request, within limits, and the very body that is sent on: printed from what was
// parsed, so that no other parser can read anything else in it. Never hands on what it has not understood whole.
import { GraphQLError } from 'graphql/error/GraphQLError.js';
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  parse,
  print,
  Source,
  TokenKind,
  visit,
} from 'graphql/language/index.js';
import { notJudged } from './refuse-graphql.ts';

export const graphqlLimits = { bodyBytes: 1024 * 1024, tokens: 10_000, depth: 40, operations: 10, valueDepth: 20 };

export interface GraphqlRequest {
  readonly document: DocumentNode;
  readonly operations: readonly OperationDefinitionNode[];
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | null;
}

export function readGraphqlRequest(body: Buffer): GraphqlRequest {
  const { query, variables, operationName } = readJson(body);
  if (typeof query !== 'string') throw notJudged('the body names no GraphQL document as "query"');
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string') {
    throw notJudged('"operationName" is not a string');
  }
  const checked = variables ?? {};
  if (!isRecord(checked)) throw notJudged('"variables" is not a JSON object');
  refuseDeepValue(checked, graphqlLimits.valueDepth);
  refuseDeepDocument(query);
  const document = inPlainStrings(parseDocument(query));
  const { operations, fragments } = sortDefinitions(document);
  // Rails would read an empty name as none; so it is sent as none.
  const name = operationName === undefined || operationName === '' ? null : operationName;
  refuseUnclearOperation(operations, name);
  return { document, operations, fragments, variables: checked, operationName: name };
}

/** `document` may have been changed by the judge. */
export function writeGraphqlBody({ document, variables, operationName }: GraphqlRequest): Buffer {
  const name = operationName === null ? {} : { operationName };
  return Buffer.from(JSON.stringify({ query: print(document), variables, ...name }));
}

function readJson(body: Buffer): Record<string, unknown> {
  if (body.length > graphqlLimits.bodyBytes)
    throw notJudged(`the body is larger than ${graphqlLimits.bodyBytes} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch (cause) {
    throw notJudged(`the body is not JSON (${cause instanceof Error ? cause.name : 'error'})`);
  }
  if (Array.isArray(value)) throw notJudged('a batch of GraphQL requests is not understood', 'Send them one by one.');
  if (!isRecord(value)) throw notJudged('the body is not a JSON object');
  const unknown = Object.keys(value).find((key) => !['query', 'variables', 'operationName'].includes(key));
  if (unknown !== undefined && value[unknown] !== null) {
    throw notJudged(`the body has "${unknown.slice(0, 40)}" beside query, variables and operationName`);
  }
  return value;
}

/** Before the parser, which is recursive, sees it. */
function refuseDeepDocument(text: string): void {
  let depth = 0;
  let tokens = 0;
  const lexer = new Lexer(new Source(text));
  for (;;) {
    let kind: TokenKind;
    try {
      kind = lexer.advance().kind;
    } catch (error) {
      throw asRefusal(error);
    }
    if (kind === TokenKind.EOF) return;
    tokens += 1;
    if (tokens > graphqlLimits.tokens) throw notJudged(`the document has more than ${graphqlLimits.tokens} words`);
    if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) depth += 1;
    else if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R) depth -= 1;
    if (depth > graphqlLimits.depth)
      throw notJudged(`the document is nested deeper than ${graphqlLimits.depth} levels`);
  }
}

function parseDocument(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: graphqlLimits.tokens, noLocation: true });
  } catch (error) {
    throw asRefusal(error);
  }
}

function asRefusal(error: unknown): unknown {
  if (!(error instanceof GraphQLError)) return error;
  return notJudged(`the document is not GraphQL: ${error.message.slice(0, 200)}`, 'Correct the document.');
}

/** Block strings are read with rules of their own about indentation: sent as plain ones, there is one reading. */
function inPlainStrings(document: DocumentNode): DocumentNode {
  return visit(document, { StringValue: (node) => (node.block === true ? { ...node, block: false } : undefined) });
}

function sortDefinitions(document: DocumentNode): Pick<GraphqlRequest, 'operations' | 'fragments'> {
  const operations: OperationDefinitionNode[] = [];
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
    else if (definition.kind !== Kind.FRAGMENT_DEFINITION) throw notJudged('the document defines types');
    else if (fragments.has(definition.name.value)) {
      throw notJudged(`the fragment ${definition.name.value} is defined twice`);
    } else fragments.set(definition.name.value, definition);
  }
  return { operations, fragments };
}

function refuseUnclearOperation(operations: readonly OperationDefinitionNode[], name: string | null): void {
  if (operations.length === 0) throw notJudged('the document has no operation');
  if (operations.length > graphqlLimits.operations) {
    throw notJudged(`the document has more than ${graphqlLimits.operations} operations`);
  }
  const names = operations.map((operation) => operation.name?.value ?? null);
  if (new Set(names).size !== names.length) throw notJudged('two operations have the same name');
  if (name === null && operations.length > 1) throw notJudged('several operations, and "operationName" names none');
  if (name !== null && !names.includes(name)) throw notJudged('"operationName" names no operation of the document');
}

function refuseDeepValue(value: unknown, levels: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) throw notJudged(`the variables are nested deeper than ${graphqlLimits.valueDepth} levels`);
  for (const inner of Object.values(value)) refuseDeepValue(inner, levels - 1);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
