import { describe, expect, test } from 'vitest';
import type { DockerApi } from '../../../../../src/kit/docker/docker-api.ts';
import { DockerError } from '../../../../../src/kit/docker/docker-error.ts';
import type { DockerContainer, DockerImage, DockerPlatform } from '../../../../../src/kit/docker/docker-shapes.ts';
import { refuseLabelsOfImage } from '../../../../../src/stages/identify/docker/labelled-containers.ts';

const id = `sha256:${'ab'.repeat(32)}`;
const arm: DockerPlatform = { os: 'linux', architecture: 'arm', variant: 'v7' };
const plain: DockerImage = { Os: 'linux', Architecture: 'arm', Variant: 'v7', Config: { Labels: {} } };

function container(more: Partial<DockerContainer> = {}): DockerContainer {
  return {
    Id: 'cd'.repeat(32),
    Name: '/agent',
    Image: id,
    ImageManifestDescriptor: null,
    State: { Running: true, Paused: false, Restarting: false, Pid: 7, StartedAt: '' },
    HostConfig: { NetworkMode: 'net' },
    Config: { Labels: { 'sallyport.repos': 'o/r' }, Image: 'tool:1' },
    NetworkSettings: { Networks: {} },
    ...more,
  };
}

/** A Docker with one image, which notes what it was asked. */
function docker(image: DockerImage | DockerError): { api: DockerApi; asked: unknown[] } {
  const asked: unknown[] = [];
  const api = {
    async inspectImage(...words: unknown[]) {
      asked.push(...words);
      if (image instanceof DockerError) throw image;
      return image;
    },
  };
  return { api: api as unknown as DockerApi, asked };
}

const onArm = { ImageManifestDescriptor: { platform: arm } };

describe('whose labels a container has', () => {
  test('its own where the image has none, or others', async () => {
    await refuseLabelsOfImage(docker(plain).api, container());
    const others = { 'sallyport.repos': 'o/other', 'sallyport.id': 'x' };
    await refuseLabelsOfImage(docker({ ...plain, Config: { Labels: others } }).api, container());
  });

  test('those of its image are named, with the image and what to do', async () => {
    const image = { ...plain, Config: { Labels: { 'sallyport.repos': 'o/r' } } };
    await expect(refuseLabelsOfImage(docker(image).api, container())).rejects.toMatchObject({
      name: 'LabelError',
      message: expect.stringMatching(/^sallyport\.repos: set by its image tool:1 \(sha256:abababababab\)/),
      hint: expect.stringContaining('sallyport register --container agent'),
    });
  });

  test('an image for several machines is asked for the one that the container was made for', async () => {
    const { api, asked } = docker(plain);
    await refuseLabelsOfImage(api, container(onArm));
    expect(asked).toEqual([id, arm]);
  });

  test.each<[string, DockerImage | DockerError, Partial<DockerContainer>]>([
    ['Docker does not have it', new DockerError('unknown', 'no such image', ''), {}],
    ['Docker does not answer', new DockerError('slow', 'too slow', ''), {}],
    ['a view from before this question refuses it', new DockerError('failed', 'a view', ''), {}],
    ['Docker does not say which it is', plain, { Image: '' }],
    ['Docker does not have its configuration', { ...plain, Config: null }, {}],
    ['Docker tells of another architecture', { ...plain, Architecture: 'amd64' }, onArm],
    ['Docker tells of another system', { ...plain, Os: 'windows' }, onArm],
    ['Docker tells of another variant', { ...plain, Variant: 'v6' }, onArm],
  ])('nobody knows where %s', async (_why, image, more) => {
    await expect(refuseLabelsOfImage(docker(image).api, container(more))).rejects.toThrow('cannot be looked at');
  });
});
