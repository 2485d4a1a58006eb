// Node 20 does not run TypeScript, so a test that needs a process of its own gives it a plain copy of some rooms.
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';

/** Puts `src/<room>` as JavaScript under `root`, with the dependencies in reach. */
export function copyRooms(root: string, rooms: readonly string[]): void {
  for (const room of rooms) {
    const below = readdirSync(resolve('src', room), { recursive: true, encoding: 'utf8' });
    for (const name of below.filter((file) => file.endsWith('.ts'))) {
      mkdirSync(dirname(join(root, 'src', room, name)), { recursive: true });
      const { outputText } = ts.transpileModule(readFileSync(resolve('src', room, name), 'utf8'), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2023,
          verbatimModuleSyntax: true,
          rewriteRelativeImportExtensions: true,
        },
      });
      writeFileSync(join(root, 'src', room, name.replace(/ts$/, 'js')), outputText);
    }
  }
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
}
