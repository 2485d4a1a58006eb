// Brings config/github/graphql-types.txt and graphql-inputs.txt up to date with GitHub's public schema. Input types are
// facts and written anew. Fields that are new on a listed type are added as `new`, which refuses them until a person has
// put them under leaf, full, ref or closed; nothing is ever opened or taken away by this script.
//
//   node scripts/refresh-github-graphql.mjs [--check] [--schema FILE]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSchema, getNamedType, getNullableType, isInputObjectType, isLeafType, isListType } from 'graphql';

const { values } = parseArgs({ options: { check: { type: 'boolean' }, schema: { type: 'string' } } });
const typesFile = new URL('../config/github/graphql-types.txt', import.meta.url);
const inputsFile = new URL('../config/github/graphql-inputs.txt', import.meta.url);

// GitHub's own file has had fields twice: it is taken as it is.
const schema = buildSchema(fetchSchema(), { assumeValidSDL: true, assumeValid: true });
const typesBefore = readFileSync(typesFile, 'utf8');
const inputsBefore = readFileSync(inputsFile, 'utf8');
const { text: typesAfter, added, gone } = refreshTypes(typesBefore);
const inputsAfter = refreshInputs(inputsBefore);

for (const name of added) console.log(`new, refused until decided: ${name}`);
for (const name of gone) console.log(`no longer in the schema: ${name}`);
const isChanged = typesAfter !== typesBefore || inputsAfter !== inputsBefore;
console.log(
  `${added.length} new, ${gone.length} gone, inputs ${inputsAfter === inputsBefore ? 'the same' : 'changed'}`,
);
if (values.check) process.exitCode = isChanged ? 1 : 0;
else {
  writeFileSync(typesFile, typesAfter);
  writeFileSync(inputsFile, inputsAfter);
}

function fetchSchema() {
  if (values.schema !== undefined) return readFileSync(values.schema, 'utf8');
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-graphql-'));
  try {
    execFileSync('npm', ['pack', '--silent', '@octokit/graphql-schema'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'));
    execFileSync('tar', ['-xzf', archive, 'package/schema.graphql'], { cwd: folder });
    return readFileSync(join(folder, 'package/schema.graphql'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The text with a `new` line for each listed type that has fields the text does not name. */
function refreshTypes(text) {
  const added = [];
  const gone = [];
  const blocks = text.split(/^(?=type )/m);
  const refreshed = blocks.map((block) => {
    const name = /^type (\w+)/.exec(block)?.[1];
    if (name === undefined) return block;
    const type = schema.getType(name);
    if (type === undefined) gone.push(name);
    if (type === undefined || !('getFields' in type)) return block;
    const fields = type.getFields();
    const named = namesIn(block);
    for (const field of named.keys()) if (!(field in fields)) gone.push(`${name}.${field}`);
    for (const [field, target] of named) {
      if (target !== null && field in fields && getNamedType(fields[field].type).name !== target) {
        gone.push(`${name}.${field} as ${target}`);
      }
    }
    if (/^ {2}closed \*$/m.test(block)) return block;
    const missing = Object.values(fields)
      .filter((field) => !named.has(field.name))
      .map(({ name: field, type: result }) => {
        added.push(`${name}.${field}`);
        const target = getNamedType(result);
        return isLeafType(target) ? field : `${field}:${target.name}`;
      });
    return block + inLines('new', missing);
  });
  return { text: refreshed.join(''), added, gone };
}

/** Field names of a block and the type they lead to. */
function namesIn(block) {
  const named = new Map();
  for (const line of block.split('\n').slice(1)) {
    const [key, ...words] = line.trim().split(' ');
    if (key === 'facts' || key === '' || key.startsWith('#')) continue;
    for (const word of words) {
      const [field, target = null] = word.split(':');
      if (field !== '*') named.set(field, target);
    }
  }
  return named;
}

function refreshInputs(text) {
  const head = text.slice(0, text.indexOf('\n\n') + 2);
  const inputs = new Map();
  const irregular = [];
  const open = [];
  for (const mutation of Object.values(schema.getMutationType().getFields())) {
    const input = getNamedType(mutation.args[0].type).name;
    open.push(input);
    if (input !== `${mutation.name[0].toUpperCase()}${mutation.name.slice(1)}Input`)
      irregular.push([mutation.name, input]);
  }
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (inputs.has(name)) continue;
    const words = Object.values(schema.getType(name).getFields()).map((field) => {
      const target = getNamedType(field.type);
      if (isInputObjectType(target)) open.push(target.name);
      return isInputObjectType(target) || target.name === 'ID' ? `${field.name}:${shapeOf(field.type)}` : field.name;
    });
    inputs.set(name, words);
  }
  const mutations = irregular.sort().map(([name, input]) => `mutation ${name} ${input}\n`);
  const lines = [...inputs.keys()].sort().map((name) => `input ${name}\n${inLines('', inputs.get(name))}`);
  return head + mutations.join('') + lines.join('');
}

function shapeOf(type) {
  const bare = getNullableType(type);
  return isListType(bare) ? `[${shapeOf(bare.ofType)}]` : getNamedType(bare).name;
}

function inLines(key, words) {
  let text = '';
  let line = '';
  for (const word of words) {
    if (line !== '' && `${line} ${word}`.length > 116) {
      text += `${line}\n`;
      line = '';
    }
    line = line === '' ? `  ${key}${key === '' ? '' : ' '}${word}` : `${line} ${word}`;
  }
  return line === '' ? text : `${text}${line}\n`;
}
