// Chooses what starts a sandbox. Bubblewrap unless something else is asked for; and when it is missing or the kernel forbids
// namespaces it says what to install or change. It never falls back to something that isolates less: that must be asked for.
import { LaunchError, type Launcher, type LauncherName } from './sandbox-plan.ts';

export interface LauncherChoice {
  readonly wanted?: LauncherName | undefined;
  /** Of the container; asks for Docker when nothing else is wanted. */
  readonly image?: string | undefined;
  /** The user's own: DOCKER_HOST and the like. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export async function findLauncher({ wanted, image, environment }: LauncherChoice): Promise<Launcher> {
  const name = wanted ?? (image === undefined ? 'bubblewrap' : 'docker');
  if (name !== 'docker' && image !== undefined)
    throw new LaunchError(
      `--image works with Docker only, and you chose ${name}`,
      'leave out --image, or use --launcher docker',
    );
  // Loaded when needed: a start must not wait for what it does not use.
  switch (name) {
    case 'docker': {
      if (image === undefined) throw new LaunchError('Docker needs an image', 'name one: --image IMAGE');
      const { createDockerLauncher } = await import('../docker/docker.ts');
      return createDockerLauncher({ image, environment });
    }
    case 'bubblewrap': {
      const { createBubblewrapLauncher } = await import('../namespace/bubblewrap.ts');
      return createBubblewrapLauncher();
    }
    case 'unshare': {
      const { createPlainUnshareLauncher } = await import('../namespace/plain-unshare.ts');
      return createPlainUnshareLauncher();
    }
  }
}
