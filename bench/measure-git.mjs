// A real git client against git-http-backend: clone and push of a repository of 200 MiB that does not compress.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { cpuSecondsOf, rssKibOf } from './processes.mjs';
import { work } from './sizes.mjs';

export async function cloneRepository(contender, pid) {
  const into = fs.mkdtempSync(path.join(work, 'clone-'));
  try {
    return await git(contender, pid, work, (base) => [
      'clone',
      '-q',
      '--bare',
      `${base}/g/r.git`,
      path.join(into, 'r.git'),
    ]);
  } finally {
    fs.rmSync(into, { recursive: true, force: true });
  }
}

export async function pushRepository(contender, pid) {
  const bare = fs.mkdtempSync(path.join(work, 'git', 'push-'));
  spawnSync('git', ['init', '-q', '--bare', bare]);
  try {
    const name = path.basename(bare);
    const seed = path.join(work, 'seed');
    const result = await git(contender, pid, seed, (base) => [
      'push',
      '-q',
      `${base}/g/${name}`,
      'HEAD:refs/heads/pushed',
    ]);
    const arrived = spawnSync('git', ['-C', bare, 'rev-parse', '-q', '--verify', 'refs/heads/pushed']).status === 0;
    return arrived || result.error ? result : { ...result, error: 'the pushed branch is not there' };
  } finally {
    fs.rmSync(bare, { recursive: true, force: true });
  }
}

/** How a git client reaches the upstream through this contender: address, settings and environment. */
export function gitSettings(contender) {
  const settings = ['http.version=HTTP/1.1', 'gc.auto=0'];
  let base = 'https://git.test:9443';
  if (contender.proxy) settings.push(`http.proxy=http://${contender.proxy}`);
  else {
    const port = contender.direct.api.split(':')[1];
    base = `https://git.test:${port}`;
    settings.push(`http.curloptResolve=git.test:${port}:127.0.0.1`);
  }
  const env = {
    ...process.env,
    GIT_SSL_CAINFO: path.join(work, 'all-ca.pem'), // stronger than the setting, where the caller has it set
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  return { base, argv: settings.flatMap((setting) => ['-c', setting]), env };
}

function git(contender, pid, cwd, wordsFor) {
  const { base, argv, env } = gitSettings(contender);
  const before = { at: performance.now(), cpu: cpuSecondsOf(pid), rss: rssKibOf(pid) };
  let peak = before.rss;
  let complaint = '';
  const child = spawn('git', [...argv, ...wordsFor(base)], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
    timeout: 120_000,
  });
  child.stderr.on('data', (text) => {
    complaint += text;
  });
  const sampler = setInterval(() => {
    peak = Math.max(peak, rssKibOf(pid));
  }, 50);
  return new Promise((resolve) => {
    child.on('close', (status) => {
      clearInterval(sampler);
      resolve({
        secs: (performance.now() - before.at) / 1000,
        cpu_s: cpuSecondsOf(pid) - before.cpu,
        rss_before_kib: before.rss,
        rss_peak_kib: peak,
        ...(status === 0 ? {} : { error: complaint.slice(-300) || 'git did not finish' }),
      });
    });
  });
}
