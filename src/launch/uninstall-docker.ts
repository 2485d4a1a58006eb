// What was made in Docker: the set-up of docker-compose.yml and whatever else carries our label, and containers that a killed
// launcher left behind. Only what is labelled as ours; a container whose launcher may still live is left alone.
import { createDockerCommand, type DockerCommand, type DockerOptions } from './docker-command.ts';
import { isGone, launcherLabel } from './docker-leftovers.ts';
import type { Found, Kept, Removable } from './uninstall-item.ts';

const ownLabels = ['com.docker.compose.project=sallyport', 'sallyport-managed=true'];
const launcherName = 'sallyport.launcher';

interface Sort {
  readonly kind: 'container' | 'network' | 'volume' | 'image';
  readonly list: readonly string[];
  readonly format: string;
  readonly remove: readonly string[];
  readonly detail: string;
}

/** In the order in which they can go: networks and volumes only without containers, images last. */
const sorts: readonly Sort[] = [
  {
    kind: 'container',
    list: ['ps', '--all', '--no-trunc'],
    format: '{{.ID}} {{.Names}}',
    remove: ['rm', '--force', '--volumes'],
    detail: 'a container, ended if it runs',
  },
  {
    kind: 'network',
    list: ['network', 'ls', '--no-trunc'],
    format: '{{.ID}} {{.Name}}',
    remove: ['network', 'rm'],
    detail: 'a network',
  },
  {
    kind: 'volume',
    list: ['volume', 'ls'],
    format: '{{.Name}} {{.Name}}',
    remove: ['volume', 'rm'],
    detail: 'a volume, with all that is in it',
  },
  {
    kind: 'image',
    list: ['image', 'ls', '--no-trunc'],
    format: '{{.ID}} {{.Repository}}:{{.Tag}}',
    remove: ['image', 'rm'],
    detail: 'an image',
  },
];

/** Throws when Docker does not answer. */
export async function findInDocker(options: DockerOptions): Promise<Found> {
  const docker = createDockerCommand(options);
  const removable: Removable[] = [];
  for (const sort of sorts) removable.push(...(await findSort(docker, sort)));
  const { found, kept } = await findLeftovers(docker, new Set(removable.map(({ what }) => what)));
  return { removable: [...found, ...removable], kept };
}

async function findSort(docker: DockerCommand, sort: Sort): Promise<Removable[]> {
  // Two filters of one call must both hold: so one call each.
  const found = new Map<string, string>();
  for (const label of ownLabels) {
    for (const line of await lines(docker, [...sort.list, '--filter', `label=${label}`, '--format', sort.format])) {
      const [id = '', ...name] = line.split(' ');
      // An image is removed by its name, so that another name of it stays; one without a name by its id.
      const key = sort.kind === 'image' && !line.includes('<none>') ? name.join(' ') : id;
      if (id !== '') found.set(key, name.join(' '));
    }
  }
  return [...found].map(([id, name]) => removableOf(docker, sort, id, name));
}

/** Containers of `sallyport run --image` whose launcher was killed. */
async function findLeftovers(
  docker: DockerCommand,
  known: ReadonlySet<string>,
): Promise<{ found: Removable[]; kept: Kept[] }> {
  const found: Removable[] = [];
  const kept: Kept[] = [];
  const [sort] = sorts;
  const format = `${sort!.format} {{.Label "${launcherName}"}}`;
  const self = launcherLabel()
    .slice(launcherName.length + 1)
    .split('/');
  const identity = { boot: self[0]!, space: self[1]!, pid: Number(self[2]), startedAt: self[3]! };
  for (const line of await lines(docker, [...sort!.list, '--filter', `label=${launcherName}`, '--format', format])) {
    const [id = '', name = '', label = ''] = line.split(' ');
    if (known.has(`container ${name}`)) continue;
    if (isGone(label, identity)) found.push(removableOf(docker, sort!, id, name));
    else {
      kept.push({
        what: `container ${name}`,
        why: 'is a sandbox whose launcher may still be running',
        how: `End the \`sallyport run\` that started it; if there is none: docker rm --force ${name}`,
      });
    }
  }
  return { found, kept };
}

function removableOf(docker: DockerCommand, sort: Sort, id: string, name: string): Removable {
  return {
    kind: sort.kind,
    what: `${sort.kind} ${name}`,
    detail: sort.detail,
    how: `docker ${[...sort.remove, id].join(' ')}`,
    async remove() {
      await docker.run([...sort.remove, '--', id]);
    },
  };
}

async function lines(docker: DockerCommand, args: readonly string[]): Promise<string[]> {
  return (await docker.run(args)).split('\n').filter((line) => line !== '');
}
