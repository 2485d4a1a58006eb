// Writes a history of N commits to standard output for `git fast-import`: 500 files in 20 directories, one of them
// changed in each commit. main is its tip, follow stands there too, behind stands 50 commits before it. Always the same.
import { once } from 'node:events';

const behind = 50;
const directories = 20;
const filesEach = 25;
const commits = Number(process.argv[2]);
if (!(commits > behind)) throw new Error(`usage: make-history.mjs N, more than ${behind}`);

const file = (n) => `src/part-${n % directories}/file-${Math.floor(n / directories) % filesEach}.txt`;
const inline = (path, text) => `M 100644 inline ${path}\ndata ${text.length}\n${text}\n`;

function commit(n) {
  const message = `Change number ${n}\n`;
  const changes = n === 1 ? everything() : inline(file(n), `line of change ${n}\n`);
  // Mark n is commit n: what is not the tip can be named at the end.
  return `commit refs/heads/main\nmark :${n}\ncommitter bench <bench@example.com> ${1_600_000_000 + n * 60} +0000\ndata ${message.length}\n${message}${changes}\n`;
}

function everything() {
  let text = inline('README.md', 'A repository for measurements.\n') + inline('.github/workflows/ci.yml', 'on: push\n');
  for (let n = 0; n < directories * filesEach; n++) text += inline(file(n), `first content of file ${n}\n`);
  return text;
}

const write = async (text) => {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
};

for (let n = 1; n <= commits; n++) await write(commit(n));
await write(
  `reset refs/heads/follow\nfrom :${commits}\n\nreset refs/heads/behind\nfrom :${commits - behind}\n\ndone\n`,
);
