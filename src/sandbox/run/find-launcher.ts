// Chooses what starts a sandbox. Bubblewrap unless something else is asked for; where it is not installed, the launcher that
// needs no package and builds the same walls, and it says so. It never falls back to something that isolates less: that must be
// asked for.
import { findTool } from '../namespace/find-tool.ts';
import { howToInstallBubblewrap } from './bubblewrap-package.ts';
import { LaunchError, type Launcher, type LauncherName } from './sandbox-plan.ts';

export interface LauncherChoice {
  readonly wanted?: LauncherName | undefined;
  /** Of the container; asks for Docker when nothing else is wanted. */
  readonly image?: string | undefined;
  /** The user's own: DOCKER_HOST and the like. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export async function findLauncher(choice: LauncherChoice, find = findTool): Promise<Launcher> {
  const { wanted, image, environment } = choice;
  const name = wanted ?? (image === undefined ? 'bubblewrap' : 'docker');
  if (name !== 'docker' && name !== 'podman' && image !== undefined)
    throw new LaunchError(
      `--image works with Docker and Podman only, and you chose ${name}`,
      'leave out --image, or use --launcher docker or podman',
    );
  // Loaded when needed: a start must not wait for what it does not use.
  switch (name) {
    case 'docker':
    case 'podman': {
      if (image === undefined)
        throw new LaunchError(`${name === 'docker' ? 'Docker' : 'Podman'} needs an image`, 'name one: --image IMAGE');
      const { createDockerLauncher } = await import('../docker/docker.ts');
      return createDockerLauncher({ image, environment, engine: name });
    }
    case 'bubblewrap': {
      if (wanted === undefined && find('bwrap') === null) {
        const launcher = await findLauncher({ wanted: 'namespaces', environment }, find);
        return { ...launcher, notice: [withoutBubblewrap(find)] };
      }
      const { createBubblewrapLauncher } = await import('../namespace/bubblewrap.ts');
      return createBubblewrapLauncher(find);
    }
    case 'namespaces': {
      const { createNamespacesLauncher } = await import('../namespace/namespaces.ts');
      return createNamespacesLauncher();
    }
    case 'unshare': {
      const { createPlainUnshareLauncher } = await import('../namespace/plain-unshare.ts');
      return createPlainUnshareLauncher();
    }
  }
}

function withoutBubblewrap(find: typeof findTool): string {
  return (
    'bubblewrap is not installed, so this sandbox is made without it: the same walls (network, files, processes, system calls), ' +
    `but not the years of scrutiny that bubblewrap has had, and a slower start. To have it: ${howToInstallBubblewrap(find)}`
  );
}
