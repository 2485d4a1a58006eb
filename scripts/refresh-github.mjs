// Compares config/github/rest.txt and graphql.txt with GitHub's own descriptions of its APIs, which are fetched as npm
// packages. What is new is added at its place with the effect `?`, which stops the gateway until a person has decided;
// what is gone is only reported: taking a line away takes a refusal away. Never decides an effect by itself.
//   node scripts/refresh-github.mjs            adds what is new
//   node scripts/refresh-github.mjs --check    changes nothing; exit 1 when there is a difference
//   --from FOLDER     api.github.com.json and schema.graphql are here already
//   --tables FOLDER   the tables to compare, instead of config/github
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Kind, parse } from 'graphql';

const { values: options } = parseArgs({
  options: { check: { type: 'boolean' }, from: { type: 'string' }, tables: { type: 'string' } },
});
const tables = options.tables ?? join(dirname(fileURLToPath(import.meta.url)), '..', 'config', 'github');
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const handWritten = "# --- not in GitHub's description";

const { rest, graphql } = options.from === undefined ? fetchDescriptions() : readDescriptions(options.from);
const differences = [refreshRest(JSON.parse(rest)), refreshGraphql(graphql)].reduce((sum, count) => sum + count, 0);
if (differences === 0) console.log('The tables hold everything that GitHub describes.');
else if (!options.check) console.log('Now give every ? an effect, look at the lines that are gone, and run the tests.');
process.exitCode = options.check && differences > 0 ? 1 : 0;

function fetchDescriptions() {
  const folder = mkdtempSync(join(tmpdir(), 'refresh-github-'));
  try {
    unpack(folder, '@octokit/openapi', 'generated/api.github.com.json');
    unpack(folder, '@octokit/graphql-schema', 'schema.graphql');
    return readDescriptions(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One file out of a package: unpacked whole, the descriptions are hundreds of megabytes. */
function unpack(folder, name, file) {
  const before = new Set(readdirSync(folder));
  run('npm', ['pack', name, '--silent', '--pack-destination', folder]);
  const archive = readdirSync(folder).find((entry) => entry.endsWith('.tgz') && !before.has(entry));
  if (archive === undefined) throw new Error(`npm pack ${name} left no archive`);
  const strip = file.split('/').length;
  run('tar', ['-xzf', join(folder, archive), '-C', folder, `--strip-components=${strip}`, `package/${file}`]);
}

function run(command, args) {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 120_000 });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`);
}

function readDescriptions(folder) {
  return {
    rest: readFileSync(join(folder, 'api.github.com.json'), 'utf8'),
    graphql: readFileSync(join(folder, 'schema.graphql'), 'utf8'),
  };
}

/** Both return the number of differences. */
function refreshRest(description) {
  const { operations, numbers, words } = readRestDescription(description);
  const file = join(tables, 'rest.txt');
  const lines = readFileSync(file, 'utf8').split('\n');
  const end = lines.findIndex((line) => line.startsWith(handWritten));
  const keyOf = (line) => restKey(line)?.text;
  const present = new Set(lines.map(keyOf));
  const described = new Set(lines.slice(0, end < 0 ? lines.length : end).map(keyOf));
  const added = [...operations.values()].filter(({ key }) => !present.has(key.text));
  const gone = [...described].filter((text) => text !== undefined && !operations.has(text));
  const listed = new Set(lines.flatMap((line) => (line.startsWith('number ') ? line.split(/\s+/).slice(1) : [])));
  const newNumbers = [...numbers].filter((name) => !words.has(name) && !listed.has(name)).sort();
  const wrongNumbers = [...listed].filter((name) => words.has(name));
  for (const { key, path } of added) insert(lines, key, restKey, `${key.method.padEnd(6)} ${path} ?`, end);
  if (newNumbers.length > 0) {
    const last = lines.findLastIndex((line) => line.startsWith('number '));
    lines.splice(last + 1, 0, `number ${newNumbers.join(' ')}`);
  }
  console.log(`REST: ${operations.size} operations described, ${added.length} new, ${gone.length} gone`);
  report(
    '  new  ',
    added.map(({ key }) => key.text),
  );
  report('  gone ', gone);
  report('  new parameter that is a number: ', newNumbers);
  report('  listed as a number, but GitHub describes a word: ', wrongNumbers);
  if (!options.check && added.length + newNumbers.length > 0) writeFileSync(file, lines.join('\n'));
  return added.length + gone.length + newNumbers.length + wrongNumbers.length;
}

function readRestDescription(description) {
  const operations = new Map();
  const numbers = new Set();
  const words = new Set();
  const resolve = (part) =>
    part.$ref === undefined
      ? part
      : part.$ref
          .slice(2)
          .split('/')
          .reduce((at, name) => at[name], description);
  for (const [path, byMethod] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(byMethod)) {
      if (!methods.includes(method.toUpperCase())) continue;
      let written = path;
      for (const parameter of (operation.parameters ?? []).map(resolve)) {
        if (parameter.in !== 'path') continue;
        (resolve(parameter.schema).type === 'integer' ? numbers : words).add(parameter.name);
        if (parameter['x-multi-segment']) written = written.replace(`{${parameter.name}}`, `{+${parameter.name}}`);
      }
      const key = restKey(`${method.toUpperCase()} ${path} ?`);
      operations.set(key.text, { key, path: written });
    }
  }
  return { operations, numbers, words };
}

function restKey(line) {
  const [method, path] = line.split(/\s+/);
  if (!methods.includes(method)) return null;
  const plain = path.replace('{+', '{');
  return { method, text: `${method} ${plain}`, order: [plain, methods.indexOf(method)] };
}

function refreshGraphql(schema) {
  const described = readSchema(schema);
  const file = join(tables, 'graphql.txt');
  const lines = readFileSync(file, 'utf8').split('\n');
  const present = new Set(lines.map((line) => graphqlKey(line)?.text));
  const added = described.filter((text) => !present.has(text));
  const gone = [...present].filter((text) => text !== undefined && !described.includes(text));
  for (const text of added) insert(lines, graphqlKey(text), graphqlKey, `${text} ?`, -1);
  console.log(
    `GraphQL: ${described.length} mutations and root fields described, ${added.length} new, ${gone.length} gone`,
  );
  report('  new  ', added);
  report('  gone ', gone);
  if (!options.check && added.length > 0) writeFileSync(file, lines.join('\n'));
  return added.length + gone.length;
}

function readSchema(schema) {
  const described = [];
  for (const definition of parse(schema, { noLocation: true }).definitions) {
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) continue;
    const kind = { Mutation: 'mutation', Query: 'query' }[definition.name.value];
    if (kind !== undefined) described.push(...definition.fields.map((field) => `${kind} ${field.name.value}`));
  }
  return described;
}

function graphqlKey(line) {
  const [kind, name] = line.split(/\s+/);
  if (kind !== 'mutation' && kind !== 'query') return null;
  return { text: `${kind} ${name}`, order: [kind, name] };
}

/** Before the first line that sorts after it, and before the comment that belongs to that line. */
function insert(lines, key, keyOf, line, end) {
  const before = (other) =>
    other.order[0] === key.order[0] ? other.order[1] > key.order[1] : other.order[0] > key.order[0];
  let at = lines.findIndex((text) => {
    const other = keyOf(text);
    return text.startsWith(handWritten) || (other !== null && before(other));
  });
  if (at < 0) at = end < 0 ? lines.findLastIndex((text) => keyOf(text) !== null) + 1 : end;
  while (at > 0 && (lines[at - 1] === '' || (lines[at - 1].startsWith('#') && !lines[at - 1].startsWith('# ---'))))
    at--;
  lines.splice(at, 0, line);
}

function report(label, items) {
  for (const item of items) console.log(`${label}${item}`);
}
