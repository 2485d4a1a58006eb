// A container has the labels of its image besides those that were set for it, and Docker does not say which is which. Who
// wrote an image must not say what it may do at the door: a label that the image has with the same value registers nothing.
// Nor is such a label passed over: without it the container would be registered with more, or with less, than it says.
// Guards: threats.md T99
import type { DockerApi } from '../../../kit/docker/docker-api.ts';
import { DockerError } from '../../../kit/docker/docker-error.ts';
import type { DockerContainer, DockerImage } from '../../../kit/docker/docker-shapes.ts';
import { nameOf } from './container-facts.ts';
import { LabelError } from './container-labels.ts';

/** Throws a LabelError unless every label of the container was set for it. */
export async function refuseLabelsOfImage(api: DockerApi, container: DockerContainer): Promise<void> {
  const { labels: ofImage, image } = await labelsOfImage(api, container);
  const inherited = Object.entries(container.Config.Labels).filter(([name, value]) => ofImage[name] === value);
  if (inherited.length === 0) return;
  const names = inherited.map(([name]) => name).join(', ');
  throw new LabelError(
    `${names}: set by its image ${image}, and only labels that were set for the container count`,
    `Give the container another value for it (empty: none), or register it by hand: ${byHand(container)}`,
  );
}

async function labelsOfImage(
  api: DockerApi,
  container: DockerContainer,
): Promise<{ labels: Readonly<Record<string, string>>; image: string }> {
  const { Image: id, Config: config } = container;
  const image = `${config.Image} (${id.slice(0, 19)})`;
  const unseen = (why: string): LabelError =>
    new LabelError(
      `its image ${image} cannot be looked at, so whose labels it has is not known: ${why}`,
      `Make the container anew from an image that Docker has, or register it by hand: ${byHand(container)}`,
    );
  if (id === '') throw unseen('Docker, or an older `sallyport docker-view`, does not say which it is');
  const platform = container.ImageManifestDescriptor?.platform ?? null;
  let found: DockerImage;
  try {
    found = await api.inspectImage(id, platform);
  } catch (error) {
    if (error instanceof DockerError) throw unseen(error.message);
    throw error;
  }
  if (found.Config == null) throw unseen('Docker does not have its configuration');
  const isSame = platform === null || (found.Os === platform.os && found.Architecture === platform.architecture);
  const isVariant = platform === null || platform.variant === '' || found.Variant === platform.variant;
  if (!isSame || !isVariant) throw unseen('Docker tells of it for another platform');
  return { labels: found.Config.Labels, image };
}

function byHand(container: DockerContainer): string {
  return `sallyport register --container ${nameOf(container)}`;
}
