// Builds the library into a folder: index.js, one file with everything but the native dependency, and types/, the declarations
// of what it exports and of what those name. Only what can be reached from src/index.ts is shipped, so nothing else becomes a
// promise. Called by scripts/build.mjs --library.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';

/** `define`: as for the command. */
export async function buildLibrary(root, outdir, define) {
  await build({
    absWorkingDir: root,
    entryPoints: ['src/index.ts'],
    outfile: join(outdir, 'index.js'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    define,
    // What is written in the older form asks for Node's own modules by `require`.
    banner: {
      js: "import { createRequire as sallyportRequire } from 'node:module'; const require = sallyportRequire(import.meta.url);",
    },
    external: ['koffi'],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  writeDeclarations(join(root, 'src'), join(outdir, 'types'));
}

/** File by file, without the rest of the program: what is exported there says its types itself. */
function writeDeclarations(source, outdir) {
  const waiting = [join(source, 'index.ts')];
  const seen = new Set(waiting);
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const { outputText, diagnostics } = ts.transpileDeclaration(readFileSync(file, 'utf8'), {
      fileName: file,
      reportDiagnostics: true,
      compilerOptions: { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, strict: true },
    });
    if (diagnostics?.length) throw new Error(ts.formatDiagnostics(diagnostics, hostOf(source)));
    const place = join(outdir, relative(source, file).replace(/\.ts$/, '.d.ts'));
    mkdirSync(dirname(place), { recursive: true });
    const text = outputText.replace(/(from |import\()(['"])(\.[^'"]+)\.ts\2/g, (_, how, quote, path) => {
      const named = resolve(dirname(file), `${path}.ts`);
      if (!seen.has(named)) waiting.push(named);
      seen.add(named);
      return `${how}${quote}${path}.js${quote}`;
    });
    writeFileSync(place, text);
  }
}

function hostOf(source) {
  return { getCurrentDirectory: () => source, getCanonicalFileName: (name) => name, getNewLine: () => '\n' };
}
