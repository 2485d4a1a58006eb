import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClientRun, runClient } from '../support/run-client.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const wrong = [
  'void startGateway({ home: 5 });',
  'void startGateway({ config: { allow: [] } });',
  "void runSandboxed({ command: 'sh' });",
  "void runSandboxed({ command: ['sh'], mounts: ['/a'] });",
  'void new PolicyRejected([]).nothing;',
  'export const seen = (record: RequestRecord): number => record.verdict;',
  'export const asked = (question: Question): number => question.host;',
];
let ground: string;
let project: string;

beforeAll(() => {
  ground = mkdtempSync(join(tmpdir(), 'sallyport-library-'));
  project = join(ground, 'project');
  execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs'), join(ground, 'package', 'dist'), '--library']);
  for (const name of ['config', 'package.json', 'node_modules'])
    symlinkSync(join(root, name), join(ground, 'package', name));
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  symlinkSync(join(ground, 'package'), join(project, 'node_modules', 'sallyport'));
  symlinkSync(join(root, 'node_modules', '@types'), join(project, 'node_modules', '@types'));
  cpSync(join(root, 'examples', 'library.ts'), join(project, 'library.ts'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: 'ES2023',
    module: 'NodeNext',
    types: ['node'],
    outDir: 'out',
    noEmitOnError: true,
    // Of the types of Node and others. Each declaration of the package was made from a source that compiles.
    skipLibCheck: true,
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['library.ts', 'wrong.ts'] }));
  // Each line is an error, or the compiler complains: types that had become `any` would let all of it pass.
  const expected = wrong.flatMap((line) => ['// @ts-expect-error', line]);
  const names = 'PolicyRejected, runSandboxed, startGateway, type Question, type RequestRecord';
  writeFileSync(join(project, 'wrong.ts'), [`import { ${names} } from 'sallyport';`, ...expected, ''].join('\n'));
});

afterAll(() => rmSync(ground, { recursive: true, force: true }));

function compile(): Promise<ClientRun> {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  return runClient(process.execPath, [tsc, '-p', project], { cwd: project, timeoutMs: 60_000 });
}

describe('the example of the library, in a project that has the package installed', () => {
  test('compiles against the types that the package ships, and does what it says', async () => {
    expect((await compile()).stdout).toBe('');
    const { code, stdout, stderr } = await runClient(process.execPath, ['out/library.js'], {
      cwd: project,
      env: { HOME: ground },
      timeoutMs: 40_000,
    });
    expect(stderr).toBe('');
    expect(stdout).toContain('the far side was asked for /v1\n');
    expect(stdout).toContain('"code":"method.not-allowed"');
    expect(stdout).toContain('the command ended with 0\n');
    expect(stdout).toContain('GET api.example.com: allowed allow[0]\n');
    expect(stdout).toContain('POST api.example.com: refused method.not-allowed\n');
    expect(stdout).toContain('DNS elsewhere.example: refused domain.not-allowed\n');
    expect(stdout).toContain('it could not delete everything. ');
    expect(code).toBe(0);
  }, 90_000);

  test('ships the declarations of what it exports, and no part of the inside', () => {
    const shipped = readdirSync(join(ground, 'package', 'dist', 'types'), { recursive: true, encoding: 'utf8' });
    expect(shipped).toContain('index.d.ts');
    expect(shipped.filter((name) => /^(?:inject|forward|accept|identify|authorize|audit)\b/.test(name))).toEqual([]);
  });
});
