// The configuration may lie in the folder a sandbox works in: it could otherwise allow itself everything, at once by the
// reload or with the next start.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MountGround, makeMountGround } from '../../support/mount-ground.ts';

let ground: MountGround;
let file: string;
let output: string;
beforeAll(async () => {
  ground = makeMountGround();
  file = ground.file(`${ground.project}/conf/sallyport.yaml`, 'version: 1\n', 0o644);
  const script = [
    'try() { if "$@" 2>/dev/null; then echo "DONE $1"; else echo "refused $1"; fi; }',
    'write() { echo "allow: everything" > conf/sallyport.yaml; }',
    'replace() { echo "allow: everything" > conf/new && mv -f conf/new conf/sallyport.yaml; }',
    'around() { mv conf conf-old && mkdir conf && cp conf-old/sallyport.yaml conf/; }',
    'try write; try replace; try around',
    'try rm -f conf/sallyport.yaml',
    'cat conf/sallyport.yaml; echo other > conf/other && echo BESIDE',
  ].join('\n');
  output = (await ground.run(script, { keep: [file] })).output;
});
afterAll(() => ground.remove());

test('it can be read, and neither changed nor replaced nor moved away', () => {
  for (const attempt of ['write', 'replace', 'around', 'rm']) expect(output).toContain(`refused ${attempt}`);
  expect(output).not.toContain('DONE');
  expect(readFileSync(file, 'utf8')).toBe('version: 1\n');
  expect(existsSync(`${ground.project}/conf-old`)).toBe(false);
});

test('what lies beside it is the sandbox’s to change', () => {
  expect(output).toContain('version: 1\nBESIDE');
});
