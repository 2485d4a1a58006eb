// The race as a real sandbox would run it: one exchanges a folder for a link without pause (renameat2), while others are started
// in the same project with that folder named for them. Whichever moment each of them hits, it gets the folder or nothing.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { makeRunGround, type RunGround } from '../../support/run-ground.ts';

/** It ends by itself, whatever becomes of this test. */
const raceSeconds = 60;
const trialsMs = 20_000;
const maxTrials = 16;

let ground: RunGround;
let project: string;
let secret: string;

beforeAll(() => {
  ground = makeRunGround({});
  project = ground.projectOf('root');
  const folder = join(ground.homeOf('root'), 'private');
  mkdirSync(folder, { mode: 0o700 });
  secret = join(folder, 'secret');
  writeFileSync(secret, 'the secret of the host');
  mkdirSync(join(project, 'open'));
  writeFileSync(join(project, 'open/secret'), 'of the project');
});
afterAll(() => ground.remove());

const exchange = `
  my ($number) = (\`uname -m\` =~ /x86_64/) ? 316 : 276;
  symlink("../private", "lure") or die "no lure";
  my ($open, $lure) = ("open", "lure");
  for (my ($until, $n) = (time + ${raceSeconds}, 0); time < $until; $n++) {
    syscall($number, -100, $open, -100, $lure, 2) == 0 or die "renameat2: $!";
    if ($n == 1000) { open(my $file, ">", "racing"); close($file) }
    select(undef, undef, undef, rand(0.004)) if $n % 21 == 0;
  }`;

test('a sandbox that is started meanwhile has the folder of the project, or is not started', async () => {
  const racer = ground.start('root', ['run', '--', 'perl', '-e', exchange]);
  const outcomes: string[] = [];
  try {
    await eventually(() => readdirSync(project).includes('racing'), 'the race is on', 30_000);
    // Where nobody looks twice, it is lost: the same name, read again and again.
    await eventually(() => readFileSync(join(project, 'open/secret'), 'utf8') === 'the secret of the host', 'a loss');
    const script = 'cat /mnt/it/secret; echo planted > /mnt/it/planted; echo done';
    for (const until = Date.now() + trialsMs; Date.now() < until && outcomes.length < maxTrials; ) {
      const ran = await ground.sallyport('root', ['run', '--mount', './open:/mnt/it', '--', 'sh', '-c', script]);
      expect(ran.stdout).not.toContain('the secret of the host');
      expect(readdirSync(join(ground.homeOf('root'), 'private'))).toEqual(['secret']);
      if (ran.code === 0) expect(ran.stdout).toBe('of the projectdone\n');
      else {
        expect(ran.code, ran.stderr).toBe(125);
        expect(ran.stderr).toMatch(
          /changed after it was checked|through a link in a folder that sandboxes can write to| is a link[,:] /,
        );
      }
      outcomes.push(ran.code === 0 ? 'the folder' : 'nothing');
    }
  } finally {
    racer.kill('SIGTERM');
    await racer.ended;
  }
  expect(racer.output()).not.toMatch(/renameat2|no lure/);
  expect(outcomes.length).toBeGreaterThan(2);
});
