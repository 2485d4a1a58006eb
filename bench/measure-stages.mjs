// What each stage takes, by what the gateway itself writes into its journal while small requests go through it: medians of the
// times of its trail. They are times and not CPU: what a stage waits for is in them.
import fs from 'node:fs';
import path from 'node:path';
import { sleep } from './processes.mjs';
import { work } from './sizes.mjs';

export const stageNames = ['accept', 'identify', 'authorize', 'inject', 'forward'];
const journal = path.join(work, 'sallyport-home', 'journal');

/** `load` sends the requests. */
export async function measureStages(load) {
  const began = new Date().toISOString();
  const result = await load();
  if (result.error) return result;
  let trails = [];
  for (let tries = 0; trails.length === 0 && tries < 40; tries++) {
    await sleep(50);
    trails = trailsSince(began);
  }
  if (trails.length === 0) return { error: 'the journal has none of these requests' };
  const median = (stage) => {
    const times = trails.map((trail) => trail.find(([name]) => name === stage)?.[1] ?? 0);
    return times.sort((a, b) => a - b)[times.length >> 1];
  };
  return { n: trails.length, ...Object.fromEntries(stageNames.map((stage) => [stage, median(stage)])) };
}

function trailsSince(began) {
  const files = fs.readdirSync(journal).filter((name) => name.endsWith('.jsonl'));
  const last = files.sort().slice(-2); // two, because a new one may just have been begun
  return last
    .flatMap((name) => fs.readFileSync(path.join(journal, name), 'utf8').split('\n'))
    .filter((line) => line.includes('/small.json"') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
    .filter(({ time, trail }) => time >= began && trail)
    .map(({ trail }) => trail);
}
