// The native dependency beside a script that a test has bundled: a copy, since another user may have no way into the clone.
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

export function layKoffiBeside(folder: string): void {
  for (const name of ['node_modules/koffi', 'node_modules/@koromix'])
    cpSync(join(root, name), join(folder, name), { recursive: true, dereference: true });
  execFileSync('chmod', ['-R', 'a+rX', join(folder, 'node_modules')]);
}
