// Checks the room rules over src/, then plants one violation of every rule in a copy and must see each of them
// reported. A checker that sees nothing (a compiler it cannot use, a path that moved) therefore fails.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { violations as planted } from './room-violations.mjs';
import rules from './rooms.cjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const onePackagePerFile = 'one-package-per-file';

/** Runs dependency-cruiser in a directory; returns what is broken as `rule: from -> to`. */
function cruise(directory) {
  const tool = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  const config = join(directory, 'scripts', 'rooms.cjs');
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [tool, '--config', config, '--output-type', 'json', 'src'],
    { cwd: directory, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
  );
  if (stdout === '') throw new Error(`dependency-cruiser ended with ${status}: ${stderr}`);
  const { summary, modules } = JSON.parse(stdout);
  const own = modules.filter((module) => module.source.startsWith('src/'));
  const broken = summary.violations.map(({ rule, from, to, cycle = [] }) => ({
    rule: rule.name,
    from,
    to,
    // A cycle is reported once, for one of its files.
    files: [from, ...cycle.map((step) => step.name)],
  }));
  for (const { source, dependencies } of own) {
    if (!/^src\/(kit|protocols)\//.test(source)) continue;
    const packages = new Set(
      dependencies
        .filter(({ dependencyTypes }) => dependencyTypes.some((type) => type.startsWith('npm')))
        .map(({ module }) =>
          module
            .split('/')
            .slice(0, module.startsWith('@') ? 2 : 1)
            .join('/'),
        ),
    );
    if (packages.size > 1)
      broken.push({ rule: onePackagePerFile, from: source, to: [...packages].join(', '), files: [source] });
  }
  return { broken, modules: own.length };
}

/** A copy of the repository's source with one file added for every rule; the real tree is never touched. */
function cruisePlanted() {
  const copy = mkdtempSync(join(tmpdir(), 'sallyport-rooms-'));
  try {
    for (const part of ['src', 'scripts', 'package.json', 'tsconfig.json']) {
      cpSync(join(root, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const { file, text } of planted) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      writeFileSync(join(copy, file), text);
    }
    return cruise(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const real = cruise(root);
for (const { rule, from, to } of real.broken) console.error(`${from} -> ${to} breaks ${rule}`);

const seen = cruisePlanted();
const blind = [];
for (const name of [...rules.forbidden.map((rule) => rule.name), onePackagePerFile]) {
  const own = planted.filter(({ breaks }) => breaks === name);
  if (own.length === 0) blind.push(`${name}: no violation is planted for it in scripts/room-violations.mjs`);
  for (const { file } of own) {
    const found = seen.broken.some((one) => one.rule === name && one.files.includes(file));
    if (!found) blind.push(`${name}: ${file} breaks it and was not seen`);
  }
}
for (const { file } of planted.filter(({ breaks }) => breaks === null)) {
  const wrong = seen.broken.filter((one) => one.from === file).map((one) => one.rule);
  if (wrong.length > 0) blind.push(`${file} is allowed and was reported for ${wrong.join(', ')}`);
}
for (const line of blind) console.error(`the check does not work: ${line}`);

if (real.broken.length > 0 || blind.length > 0) process.exit(1);
console.log(`rooms: ${real.modules} files keep the rules; ${planted.length} planted imports were judged rightly`);
