#!/usr/bin/env node
// Makes a release out of a tag: checks that tag, version and CHANGELOG agree, runs every check, and leaves the npm package, the
// image and their checksums in release/. It publishes nothing; it says how to.
// usage, at the top of the clone: node scripts/release.mjs [--dry-run] [TAG, default the one of this commit]
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const out = 'release';
const image = 'sallyport-gateway';

const { values, positionals } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false } },
  allowPositionals: true,
});
const { name, version, license, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const wanted = `v${version}`;
const tag = positionals[0] ?? tagsHere()[0];

function git(...words) {
  return execFileSync('git', words, { encoding: 'utf8' }).trim();
}

function tagsHere() {
  return git('tag', '--points-at', 'HEAD', '--list', 'v*').split('\n').filter(Boolean);
}

/** What stands under each heading of the second level, by the heading. */
function changelogSections() {
  const [, ...sections] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  return new Map(sections.map((text) => [text.split('\n', 1)[0], text.slice(text.indexOf('\n')).trim()]));
}

function findProblems() {
  const sections = changelogSections();
  const own = [...sections].find(([heading]) => /^(\S+) - \d{4}-\d{2}-\d{2}$/.exec(heading)?.[1] === version);
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const problems = {
    [`this commit has no tag: git tag --annotate ${wanted}`]: tag === undefined,
    [`the tag is ${tag}, and package.json has version ${version}`]: tag !== undefined && tag !== wanted,
    [`${tag} is not a tag of this commit`]: tag !== undefined && !tagsHere().includes(tag),
    [`package-lock.json has version ${lock.version}, and package.json ${version}`]: lock.version !== version,
    [`CHANGELOG.md has nothing under "## ${version} - YYYY-MM-DD"`]: !own?.[1],
    'CHANGELOG.md has lines under Unreleased: they belong to a version': Boolean(sections.get('Unreleased')),
    'there are changes that are not committed': git('status', '--porcelain') !== '',
  };
  return Object.keys(problems).filter((problem) => problems[problem]);
}

/** Its words are shown; where it fails, this ends. */
function run(command, ...words) {
  console.log(`\n$ ${[command, ...words].join(' ')}`);
  if (values['dry-run']) return;
  const { status, error } = spawnSync(command, words, { stdio: 'inherit' });
  if (status === 0) return;
  console.error(`release: ${command} failed${error ? `: ${error.message}` : ''}. Nothing was released.`);
  process.exit(1);
}

function buildImage() {
  if (spawnSync('docker', ['info'], { stdio: 'ignore' }).status !== 0) {
    console.log('\nNO IMAGE: Docker is not there, or not running.');
    return;
  }
  const source = repository.url.replace(/^git\+/, '');
  const facts = { version, revision: git('rev-parse', 'HEAD'), source, licenses: license };
  const labels = Object.entries(facts).map(([key, value]) => `--label=org.opencontainers.image.${key}=${value}`);
  run('docker', 'build', '--file=docker/gateway.Dockerfile', `--tag=${image}:${version}`, ...labels, '.');
  run('docker', 'save', `--output=${join(out, `${image}-${version}.tar`)}`, `${image}:${version}`);
}

async function sha256(file) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

async function writeChecksums() {
  console.log(`\n${join(out, 'SHA256SUMS')}`);
  if (values['dry-run']) return;
  const lines = [];
  for (const file of readdirSync(out).sort()) lines.push(`${await sha256(join(out, file))}  ${file}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
  process.stdout.write(lines.join(''));
}

const problems = findProblems();
if (problems.length > 0) {
  for (const problem of problems) console.error(`release: ${problem}`);
  process.exit(1);
}
run('scripts/test');
run('npm', 'run', 'break-controls');
if (!values['dry-run']) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
}
run('npm', 'pack', `--pack-destination=${out}`);
buildImage();
await writeChecksums();
console.log(`
Next, once ${out}/ is what you want:
  git push origin ${tag}
  npm publish ${out}/${name}-${version}.tgz --provenance   (in a workflow with id-token: write; npm knows no provenance elsewhere)
  docker tag ${image}:${version} REGISTRY/${image}:${version} && docker push REGISTRY/${image}:${version}
  a release page for ${tag}: the files of ${out}/, SHA256SUMS with them, and what CHANGELOG.md says of ${version}`);
