// What we read of Docker's answers, and no more: whatever else is in them (environments, mounts, commands: other people's
// secrets) is dropped as they are read, here and in the read-only view that is made of the same shapes.
import * as z from 'zod';

/** Labels of others are none of our business. */
export const labelPrefix = 'sallyport.';

const text = z.string();
const id = z.string().regex(/^[0-9a-f]{64}$/, 'is not the full id of a container');
/** Docker leaves out, nulls or empties what there is none of. */
const textOrNone = z
  .string()
  .nullish()
  .transform((value) => value ?? '');

const ownLabels = z
  .record(text, text)
  .nullish()
  .transform((all) => Object.fromEntries(Object.entries(all ?? {}).filter(([name]) => name.startsWith(labelPrefix))));

const endpoint = z.object({
  NetworkID: textOrNone,
  IPAddress: textOrNone,
  GlobalIPv6Address: textOrNone,
  MacAddress: textOrNone,
});

/** One of the several machines that an image can be for. */
export const platformShape = z.object({
  os: z.string().regex(/^[\w.]{1,32}$/),
  architecture: z.string().regex(/^[\w.]{1,32}$/),
  variant: z
    .string()
    .regex(/^[\w.]{0,32}$/)
    .nullish()
    .transform((value) => value ?? ''),
});

export const containerShape = z.object({
  Id: id,
  Name: text,
  /** The id of what it was made of, which stays when the name of the image goes to another. */
  Image: textOrNone,
  /** Said where one id is an image for several machines. */
  ImageManifestDescriptor: z.object({ platform: platformShape.nullish() }).nullish(),
  State: z.object({
    Running: z.boolean(),
    Paused: z.boolean(),
    Restarting: z.boolean(),
    Pid: z.int(),
    StartedAt: text,
  }),
  HostConfig: z.object({ NetworkMode: text }),
  Config: z.object({ Labels: ownLabels, Image: textOrNone }),
  NetworkSettings: z.object({
    Networks: z
      .record(text, endpoint)
      .nullish()
      .transform((networks) => networks ?? {}),
  }),
});

/** Without a configuration where Docker has the name of the image only. */
export const imageShape = z.object({
  Os: textOrNone,
  Architecture: textOrNone,
  Variant: textOrNone,
  Config: z.object({ Labels: ownLabels }).nullish(),
});

export const listedShape = z.array(z.object({ Id: id, Names: z.array(text), Labels: ownLabels }));

export const networkShape = z.object({
  Id: text,
  Name: text,
  Driver: text,
  Internal: z.boolean(),
  EnableIPv6: z
    .boolean()
    .nullish()
    .transform((value) => value ?? false),
  IPAM: z.object({
    Config: z
      .array(z.object({ Subnet: textOrNone, Gateway: textOrNone }))
      .nullish()
      .transform((subnets) => subnets ?? []),
  }),
  Options: z
    .record(text, text)
    .nullish()
    // The name of the bridge: what a firewall rule is written for.
    .transform((all) => Object.fromEntries(Object.entries(all ?? {}).filter(([name]) => name === bridgeNameOption))),
});

export const bridgeNameOption = 'com.docker.network.bridge.name';

/** Of a container, or of a network and one of its containers (`Attributes.container`). */
export const eventShape = z.object({
  Type: text,
  Action: text,
  Actor: z.object({
    ID: text,
    Attributes: z
      .object({ name: text.optional(), container: text.optional() })
      .nullish()
      .transform((attributes) => attributes ?? {}),
  }),
  timeNano: z.number(),
});

export const versionShape = z.object({ Version: text, ApiVersion: text });

export type DockerContainer = z.infer<typeof containerShape>;
export type DockerPlatform = z.infer<typeof platformShape>;
export type DockerImage = z.infer<typeof imageShape>;
export type ListedContainer = z.infer<typeof listedShape>[number];
export type DockerNetwork = z.infer<typeof networkShape>;
export type DockerEvent = z.infer<typeof eventShape>;
export type DockerVersion = z.infer<typeof versionShape>;

/** The only events that are asked for. */
export const watchedEvents = {
  type: ['container', 'network'],
  event: [
    ...['start', 'restart', 'die', 'kill', 'pause', 'unpause', 'rename', 'destroy'],
    ...['connect', 'disconnect', 'remove'],
  ],
} as const;
