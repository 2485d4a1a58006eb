// The images of docker-compose.yml, made from a clone without a network: base images of programs of this machine, and a
// gateway that was built here and waits in docker/prebuilt.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyBuiltDist } from './built-dist.ts';
import type { DockerWorld } from './docker-world.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** What a base image has that no program brings with it. */
const texts = {
  '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\n',
  '/etc/group': 'root:x:0:\n',
  '/usr/share/git-core/templates/description': 'a repository\n',
  '/etc/nsswitch.conf': 'hosts: files dns\n',
};
const forBuilding = ['sh', 'mkdir', 'chmod', 'chown', 'cp'];
const forTrying = ['cat', 'touch', 'id', 'ls', 'env', 'rm', 'find', 'sleep', 'getent'];
const programs = [...forBuilding, ...forTrying, 'node', 'curl', 'git', 'gh'];

/** A folder with what the images are built from, as a clone has it. */
export function makeClone(folder: string): void {
  for (const name of ['docker', 'docker-compose.yml', '.dockerignore', 'config', 'dashboard', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  const prebuilt = join(folder, 'docker', 'prebuilt');
  mkdirSync(join(prebuilt, 'node_modules'), { recursive: true });
  copyBuiltDist(join(prebuilt, 'dist'));
  for (const name of ['config', 'dashboard', 'package.json', 'node_modules/koffi', 'node_modules/@koromix'])
    cpSync(join(root, name), join(prebuilt, name), { recursive: true });
}

/** One for both: each import takes seconds. */
export async function importBase(world: DockerWorld, name: string): Promise<void> {
  const helper = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-remote-https');
  const copies = { '/bin/sh': '/bin/sh', [helper]: helper, ...librariesOf(helper) };
  await world.importImage(name, { programs, copies, texts }, ['ENV PATH=/usr/local/bin:/usr/bin:/bin']);
}

function librariesOf(program: string): Record<string, string> {
  const found = execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/\/\S+/g);
  return Object.fromEntries([...found].map(([path]) => [path, path]));
}
