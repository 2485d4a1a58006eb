// What judging a push costs: small pushes to a repository of 1,000 commits and to one of 100,000, each in turn through
// the contender and directly. Before it measures a gateway that judges, it makes sure that it does.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { contenders } from './contenders.mjs';
import { gitSettings } from './measure-git.mjs';
import { sleep } from './processes.mjs';
import { sizes, work } from './sizes.mjs';

/** Made by prepare.sh. `plain`: the pack has no reverse index, as git before 2.41 leaves it; the others have one. */
export const histories = ['1000', '100000', '100000-plain'];
/**
 * `next`: one commit on a branch that stands where main does. `new`: a new branch, one commit on one that is 50 behind
 * main. `catch-up`: a branch that is 50 behind main gets one commit on top of main, so 50 lie between old and new.
 */
export const pushShapes = ['next', 'new', 'catch-up'];
const parents = { next: 'main', new: 'behind', 'catch-up': 'main' };
const refs = { next: 'follow', new: 'started', 'catch-up': 'behind' };

const pushesEach = sizes.pushes;
const direct = contenders.find(({ name }) => name === 'direct');
const logFile = path.join(work, 'git-access.log');
const journal = path.join(work, 'sallyport-home', 'journal');

export async function checkPushes(contender) {
  const result = {};
  for (const history of histories) {
    const place = openRepository(`history-${history}.git`);
    try {
      if (contender.judgesPushes) await assertJudged(contender, place);
      for (const shape of pushShapes) {
        for (const [name, value] of Object.entries(await measureShape(contender, place, shape))) {
          result[`${shape}_${history}_${name}`] = value;
        }
      }
    } finally {
      place.close();
    }
  }
  return result;
}

/** Milliseconds, and what the upstream was asked beyond what a push by itself asks. */
async function measureShape(contender, place, shape) {
  const through = [];
  const straight = [];
  const began = new Date().toISOString();
  // One more than is counted: what a contender learns once (a certificate, what the server can do) is not part of it.
  for (let n = 0; n <= pushesEach; n++) {
    const turns = [
      [contender, through],
      [direct, straight],
    ];
    for (const [one, into] of n % 2 ? turns : turns.reverse()) {
      const figures = await pushOnce(one, place, shape);
      if (n > 0) into.push(figures);
    }
  }
  // Pair by pair: a slow second of the machine hits both of a pair.
  const added = (name) => median(through.map((figures, n) => figures[name] - straight[n][name]));
  return {
    ms: median(through.map(({ ms }) => ms)),
    direct_ms: median(straight.map(({ ms }) => ms)),
    added_ms: added('ms'),
    questions: added('requests'),
    questions_ms: added('upstreamMs'),
    ...(contender.judgesPushes ? { judged_ms: await judgedMs(began) } : {}),
  };
}

async function pushOnce(contender, place, shape) {
  const commit = place.commit(parents[shape]);
  const from = fs.statSync(logFile).size;
  const began = performance.now();
  const { status, complaint } = await push(contender, place, commit, refs[shape]);
  const ms = performance.now() - began;
  if (status !== 0) throw new Error(`${shape}: ${complaint.slice(-300)}`);
  if (place.tipOf(refs[shape]) !== commit) throw new Error(`${shape}: the pushed commit is not there`);
  place.reset();
  const times = fs.readFileSync(logFile).subarray(from).toString().trim().split('\n');
  return {
    ms,
    requests: times.length,
    upstreamMs: times.reduce((sum, line) => sum + Number.parseFloat(line) * 1000, 0),
  };
}

/** How long the gateway took to decide since then, its questions included, by its own journal. */
async function judgedMs(began) {
  let times = judgedSince(began);
  // Records are written in groups.
  for (let tries = 0; times.length <= pushesEach && tries < 40; tries++) {
    await sleep(50);
    times = judgedSince(began);
  }
  if (times.length <= pushesEach) throw new Error(`the journal has ${times.length} of ${pushesEach + 1} pushes`);
  return median(times);
}

function judgedSince(began) {
  const files = fs.readdirSync(journal).filter((name) => name.endsWith('.jsonl'));
  const last = files.sort().slice(-2); // two, because a new one may just have been begun
  return last
    .flatMap((name) => fs.readFileSync(path.join(journal, name), 'utf8').split('\n'))
    .filter((line) => line.includes('/git-receive-pack"') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
    .filter(({ time }) => time >= began)
    .map(({ trail }) => trail.filter(([step]) => step !== 'forward').reduce((sum, [, us]) => sum + us / 1000, 0));
}

/** A gateway that lets one of these pass checks nothing, and its figures would be worth nothing. */
async function assertJudged(contender, place) {
  const attempts = {
    'a push to a protected branch': [place.commit('main'), 'main'],
    'a push that rewrites a branch': [place.commit('behind'), 'follow'],
    'a push that changes a workflow': [place.commit('main', '.github/workflows/ci.yml'), 'follow'],
  };
  for (const [what, [commit, ref]] of Object.entries(attempts)) {
    const { status, complaint } = await push(contender, place, commit, ref);
    if (status === 0 || !complaint.includes('Sallyport refused this push')) {
      throw new Error(`the push check is off: ${what} was answered with ${complaint.slice(-300) || 'success'}`);
    }
  }
}

function push(contender, { client, name }, commit, ref) {
  const { base, argv, env } = gitSettings(contender);
  // With force the client leaves the decision to the other side; what it sends is the same.
  const words = ['push', '-q', '--force', `${base}/g/${name}`, `${commit}:refs/heads/${ref}`];
  const child = spawn('git', [...argv, ...words], {
    cwd: client,
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
    timeout: 60_000,
  });
  let complaint = '';
  child.stderr.on('data', (text) => {
    complaint += text;
  });
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, complaint })));
}

/** The repository at the upstream, and a client that knows all of it without a copy. */
function openRepository(name) {
  const server = path.join(work, 'git', name);
  const client = fs.mkdtempSync(path.join(work, 'client-'));
  git(client, ['init', '-q', '--bare']);
  fs.writeFileSync(path.join(client, 'objects', 'info', 'alternates'), `${path.join(server, 'objects')}\n`);
  const tipOf = (branch) => git(server, ['rev-parse', '-q', '--verify', `refs/heads/${branch}`]);
  const tips = { main: tipOf('main'), behind: tipOf('main~50') };
  const reset = () => {
    const lines = [`update refs/heads/main ${tips.main}`, `update refs/heads/follow ${tips.main}`];
    lines.push(`update refs/heads/behind ${tips.behind}`, 'delete refs/heads/started', '');
    git(server, ['update-ref', '--stdin'], lines.join('\n'));
  };
  reset(); // what an interrupted run left behind
  let count = 0;
  return {
    name,
    client,
    tipOf,
    reset,
    /** A commit that nobody has seen, with one file changed. */
    commit(parent, file = 'src/part-7/file-3.txt') {
      const text = `push ${++count} of ${Date.now()} ${process.pid}\n`;
      const data = `data ${text.length}\n${text}`;
      const who = `committer bench <bench@example.com> ${Math.floor(Date.now() / 1000)} +0000`;
      const script = `commit refs/bench/${count}\n${who}\n${data}from ${tips[parent]}\nM 100644 inline ${file}\n${data}\n`;
      git(client, ['fast-import', '--quiet', '--force'], script);
      return git(client, ['rev-parse', `refs/bench/${count}`]);
    },
    close() {
      reset();
      fs.rmSync(client, { recursive: true, force: true });
      // The history is in a pack, so what lies loose came with the pushes. The next run begins like this one.
      const objects = path.join(server, 'objects');
      for (const entry of fs.readdirSync(objects)) {
        if (/^[0-9a-f]{2}$/.test(entry)) fs.rmSync(path.join(objects, entry), { recursive: true });
      }
    },
  };
}

function git(cwd, argv, input = '') {
  const { status, stdout, stderr } = spawnSync('git', argv, { cwd, input, encoding: 'utf8', timeout: 60_000 });
  if (status !== 0) throw new Error(`git ${argv[0]}: ${stderr}`);
  return stdout.trim();
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
