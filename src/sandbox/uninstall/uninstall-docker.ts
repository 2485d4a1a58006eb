// What was made in Docker: the set-up of docker-compose.yml and whatever else carries our label, and containers that a killed
// launcher left behind. Only what is labelled as ours; a container whose launcher may still live is left alone.
import { createDockerCommand, type DockerCommand, type DockerOptions } from '../docker/docker-command.ts';
import { isLeftover, launcherLabel } from '../docker/docker-leftovers.ts';
import type { Found, KeptItem, Removable } from './uninstall-item.ts';

/** Not the label of a Compose project, which also lies on what the agent worked on, and on any project in a folder of our name. */
const ownLabel = 'sallyport-managed=true';
/** A label is inherited: an image that somebody built on one of ours has it too. */
const ownImage = /(?:^|\/)sallyport-(?:gateway|sandbox|enforce):[^/]+$/;
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
  const kept: KeptItem[] = [];
  for (const sort of sorts) {
    const found = await findSort(docker, sort);
    removable.push(...found.removable);
    kept.push(...found.kept);
  }
  const left = await findLeftovers(docker, new Set(removable.map(({ what }) => what)));
  return { removable: [...left.removable, ...removable], kept: [...left.kept, ...kept] };
}

async function findSort(docker: DockerCommand, sort: Sort): Promise<Found> {
  const removable: Removable[] = [];
  const kept: KeptItem[] = [];
  for (const line of await lines(docker, [...sort.list, '--filter', `label=${ownLabel}`, '--format', sort.format])) {
    const [id = '', name = ''] = line.split(' ');
    const isNamedImage = sort.kind === 'image' && !name.includes('<none>');
    if (sort.kind === 'container' && (await isLabelledByOther(docker, id))) {
      kept.push({
        what: `container ${name}`,
        why: 'has our label from its image, which is not one of ours: it may be built on one',
        how: `docker rm --force ${name}`,
      });
      continue;
    }
    if (isNamedImage && !ownImage.test(name)) {
      kept.push({
        what: `image ${name}`,
        why: 'has our label, but not one of our names: it may be built on one of ours',
        how: `docker image rm ${name}`,
      });
      // An image is removed by its name, so that another name of it stays; one without a name by its id.
    } else removable.push(removableOf(docker, sort, isNamedImage ? name : id, name));
  }
  return { removable, kept };
}

/** Whether a container has our label from an image that has none of our names. Unknown, where the image is gone: it may be. */
async function isLabelledByOther(docker: DockerCommand, container: string): Promise<boolean> {
  try {
    const image = (await docker.run(['inspect', '--format', '{{.Image}}', '--', container])).trim();
    const format = '{{json .RepoTags}} {{index .Config.Labels "sallyport-managed"}}';
    const [tags, label] = (await docker.run(['image', 'inspect', '--format', format, '--', image])).trim().split(' ');
    const names = (JSON.parse(tags!) ?? []) as string[];
    return label === 'true' && !names.some((name) => ownImage.test(name));
  } catch {
    return true;
  }
}

/** Containers of `sallyport run --image` whose launcher was killed. */
async function findLeftovers(docker: DockerCommand, known: ReadonlySet<string>): Promise<Found> {
  const removable: Removable[] = [];
  const kept: KeptItem[] = [];
  const [sort] = sorts;
  const format = `${sort!.format} {{.Label "${launcherName}"}}`;
  const self = launcherLabel()
    .slice(launcherName.length + 1)
    .split('/');
  const identity = { boot: self[0]!, space: self[1]!, pid: Number(self[2]), startedAt: self[3]! };
  for (const line of await lines(docker, [...sort!.list, '--filter', `label=${launcherName}`, '--format', format])) {
    const [id = '', name = '', label = ''] = line.split(' ');
    if (known.has(`container ${name}`)) continue;
    if (isLeftover(name, label, identity)) removable.push(removableOf(docker, sort!, id, name));
    else {
      kept.push({
        what: `container ${name}`,
        why: 'is a sandbox whose launcher may still run, or comes from an image made from a sandbox',
        how: `End the \`sallyport run\` that started it; if there is none: docker rm --force ${name}`,
      });
    }
  }
  return { removable, kept };
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
