// Builds the command, and with --library the library: usage: node scripts/build.mjs [OUTDIR, default dist] [--cache] [--library]
// One sandbox is one start of Node, and most of a start is finding, reading and compiling modules: so all of it is one
// file for each role (docs/adr/060), and with --cache its compiled form lies beside it. Types are checked elsewhere (npm run types).
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { parse } from 'yaml';

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const outdir = resolve(root, words[0] ?? 'dist');
const main = join(outdir, 'main.cjs');
rmSync(outdir, { recursive: true, force: true });
mkdirSync(outdir, { recursive: true });

const presets = parse(readFileSync(join(root, 'config', 'presets.yaml'), 'utf8'));
await build({
  absWorkingDir: root,
  entryPoints: { sallyport: 'src/main.ts', run: 'src/cli/run-alone.ts', gateway: 'src/cli/gateway-alone.ts' },
  outdir,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  // The older form: V8 can be handed compiled code for it, and what is imported late is evaluated late.
  format: 'cjs',
  target: 'node20.19',
  // Late imports of Node's own modules too: a script that is run this way has no loader for them.
  supported: { 'dynamic-import': false },
  define: {
    'import.meta.url': 'bundleUrl',
    // src/policy/schema/presets.ts says why.
    'globalThis.sallyportPresets': JSON.stringify(presets),
  },
  banner: { js: "const bundleUrl = require('node:url').pathToFileURL(__filename).href;" },
  // It finds its native library beside itself.
  external: ['koffi'],
  // Names stay as they are, so that a stack can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: 'external',
  logLevel: 'warning',
});
copyFileSync(join(root, 'scripts', 'main.cjs'), main);
chmodSync(main, 0o755);
if (process.argv.includes('--library')) {
  // Loaded only here: ./sallyport builds the command alone, and the compiler of types is slow to load.
  const { buildLibrary } = await import('./build-library.mjs');
  await buildLibrary(root, outdir, { 'globalThis.sallyportPresets': JSON.stringify(presets) });
}
if (process.argv.includes('--cache')) makeCache();

/** Does once what each role does: the main job, which starts a gateway, and a command that loads all others. */
function makeCache() {
  const ground = mkdtempSync(join(tmpdir(), 'sallyport-build-'));
  const env = {
    PATH: process.env.PATH,
    HOME: ground,
    SALLYPORT_HOME: join(ground, 'state'),
    SALLYPORT_BUILD_CACHE: '1',
  };
  // Quietly: nothing is installed on the way. Where no sandbox can be made, what it came to is cached all the same.
  mkdirSync(join(ground, 'project'));
  const options = { cwd: join(ground, 'project'), env, stdio: 'ignore', timeout: 20_000 };
  spawnSync(process.execPath, [main, 'run', '--quiet', '--', 'true'], options);
  spawnSync(process.execPath, [main, 'help'], options);
  // What was cut off may still be writing there.
  rmSync(ground, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
