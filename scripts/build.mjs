// Builds the command into few files: usage: node scripts/build.mjs [OUTDIR, default dist]
// One sandbox is one start of Node, and most of a start is finding and reading modules: bundled it takes less than half
// the time. Types are checked elsewhere (npm run types).
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { parse } from 'yaml';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const outdir = resolve(root, process.argv[2] ?? 'dist');
// Names of chunks change with their content: what an older build left would stay for ever.
rmSync(outdir, { recursive: true, force: true });
const presets = parse(readFileSync(join(root, 'config', 'presets.yaml'), 'utf8'));
await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  outdir,
  bundle: true,
  // The gateway is loaded only by the commands that start one.
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // src/policy/presets.ts says why.
  define: { 'globalThis.sallyportPresets': JSON.stringify(presets) },
  // It finds its native library beside itself.
  external: ['koffi'],
  // Packages in the older form call `require` for Node's own modules.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  // Names stay as they are, so that a stack can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: 'external',
  logLevel: 'warning',
});
