// The pictures in the documentation: `node scripts/screenshots.mjs`. Starts a real gateway with pretend far sides, lets
// sandboxes work, and takes the pictures with Debian's Chromium into docs/images/. Look at them before you commit them.
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
// Below node_modules, so that what is not bundled is found from there.
const folder = join(root, 'node_modules', '.cache', `screenshots-${process.pid}`);
mkdirSync(folder, { recursive: true });
// The supports of the tests clean up behind themselves when the tests are over: here, when the pictures are taken.
const afterwards = [];
globalThis.afterPictures = (act) => afterwards.push(act);
const insteadOfVitest = {
  name: 'instead-of-vitest',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'instead' }));
    onLoad({ filter: /.*/, namespace: 'instead' }, () => ({ contents: 'export const afterAll = afterPictures;' }));
  },
};
try {
  await build({
    absWorkingDir: root,
    entryPoints: ['tests/support/browser-pictures.ts'],
    outfile: join(folder, 'pictures.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    packages: 'external',
    plugins: [insteadOfVitest],
    logLevel: 'warning',
  });
  const { takePictures } = await import(pathToFileURL(join(folder, 'pictures.mjs')).href);
  await takePictures(join(root, 'docs', 'images'));
} finally {
  for (const act of afterwards) await act();
  rmSync(folder, { recursive: true, force: true });
}
