// What a benchmark measures, made from the source as it is: the command as an operator has it, a gateway of it that runs, and
// parts of the path as modules. Nothing of an earlier build is ever measured by mistake.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..');
const startMs = 30_000;

/** The command's main file, built in `folder`; SALLYPORT_MAIN names another build to measure. */
export function buildMain(folder) {
  if (process.env.SALLYPORT_MAIN) return process.env.SALLYPORT_MAIN;
  const place = join(folder, 'package');
  mkdirSync(place);
  for (const name of ['config', 'dashboard', 'package.json', 'node_modules'])
    symlinkSync(join(root, name), join(place, name));
  execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs'), join(place, 'dist'), '--cache']);
  return join(place, 'dist', 'main.cjs');
}

/** Compiles a file of this folder with all it imports of src/, and imports it. */
export async function importSource(name) {
  // Below this package, so that what it depends on is found.
  const work = join(here, 'work');
  mkdirSync(work, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(work, 'source-'));
  try {
    const outfile = join(folder, name.replace(/\.ts$/, '.mjs'));
    await build({
      entryPoints: [join(here, name)],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      packages: 'external',
      sourcemap: 'inline',
      logLevel: 'warning',
    });
    return await import(pathToFileURL(outfile));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts `sallyport up` with this environment and waits for its proxy door. Whoever starts it ends it. */
export async function startGateway(main, env) {
  const child = spawn(process.execPath, [main, 'up', '--json'], {
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const port = await new Promise((resolve, reject) => {
    const hear = (chunk) => {
      said = (said + chunk).slice(-20_000);
      const door = /proxy http:\/\/127\.0\.0\.1:(\d+)/.exec(said);
      if (door !== null) resolve(Number(door[1]));
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => reject(new Error(`the gateway ended: ${said}`)));
    setTimeout(() => reject(new Error(`the gateway did not start: ${said}`)), startMs).unref();
  });
  return { child, port, end: (signal = 'SIGTERM') => endChild(child, signal) };
}

export async function endChild(child, signal = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

/** One call of a gateway's admin API. A text goes as text, anything else as JSON; a status of 300 or more is an error. */
export function callAdmin(socketPath, method, path, body, agent = false) {
  return new Promise((resolve, reject) => {
    const isText = typeof body === 'string';
    const headers = { 'content-type': isText ? 'text/plain' : 'application/json' };
    const sent = request({ agent, socketPath, method, path, headers, timeout: 10_000 }, async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      if (answer.statusCode >= 300) reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`));
      else resolve(/^[{[]/.test(text) ? JSON.parse(text) : text);
    });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer`)));
    sent.end(body === undefined || isText ? body : JSON.stringify(body));
  });
}
