// Where a configuration is looked for when none is named, and what keeps its place while a sandbox runs and there is none: a
// file that the sandbox cannot write, and that says nothing to whoever looks for a policy. // Guards: threats.md T36
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const configFileName = 'sallyport.yaml';

/** The first of them that is there is followed. */
export function placesToLook({ cwd, home }: { readonly cwd: string; readonly home: string }): readonly string[] {
  return [join(cwd, configFileName), join(home, '.config', 'sallyport', configFileName)];
}

export const standInConfig = `# No policy is here yet. While a sandbox runs, this file keeps the place, so that the sandbox cannot write one.
# Write yours into this file. Left as it is, it goes away with the sandbox.
# Inside, the folder is never empty. Instead of git clone URL . say:
#   git init && git remote add origin URL && git pull origin main
`;

/** Also one that a run left which was killed. A link to one is somebody's own. */
export function isStandInConfig(path: string): boolean {
  try {
    const stats = lstatSync(path);
    return stats.isFile() && stats.size === standInConfig.length && readFileSync(path, 'utf8') === standInConfig;
  } catch {
    return false;
  }
}
