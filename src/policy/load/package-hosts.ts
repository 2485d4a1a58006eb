// Where this machine's package managers fetch from, by their own configuration, so that mirrors and private
// registries work by themselves. Only scheme, host and port are taken from a URL: never its path's secrets, never
// user names, passwords or tokens. Files of the working directory are not asked: a sandbox may write those.

import { aptOrigins } from '../packages/apt-origins.ts';
import { cargoOrigins } from '../packages/cargo-origins.ts';
import { composerOrigins } from '../packages/composer-origins.ts';
import { gemOrigins } from '../packages/gem-origins.ts';
import { goOrigins } from '../packages/go-origins.ts';
import { mavenOrigins } from '../packages/maven-origins.ts';
import { npmOrigins } from '../packages/npm-origins.ts';
import { OriginList, type PackageOrigin } from '../packages/package-origin.ts';
import { pipOrigins } from '../packages/pip-origins.ts';
import type { MachineFiles } from './machine-files.ts';

export interface PackageHosts {
  readonly origins: readonly PackageOrigin[];
  readonly warnings: readonly string[];
}

export const packageFamilies = ['npm', 'pip', 'cargo', 'go', 'gem', 'maven', 'composer', 'apt'] as const;

export type PackageFamily = (typeof packageFamilies)[number];

/** Adds what it finds to the list. */
type OriginFinder = (machine: MachineFiles, found: OriginList) => void | Promise<void>;

const finders: Readonly<Record<PackageFamily, OriginFinder>> = {
  npm: npmOrigins,
  pip: pipOrigins,
  cargo: cargoOrigins,
  go: goOrigins,
  gem: gemOrigins,
  maven: mavenOrigins,
  composer: composerOrigins,
  apt: aptOrigins,
};

export async function findPackageHosts(
  families: ReadonlySet<PackageFamily>,
  machine: MachineFiles,
): Promise<Map<PackageFamily, PackageHosts>> {
  const hosts = new Map<PackageFamily, PackageHosts>();
  for (const family of families) {
    const found = new OriginList();
    await finders[family](machine, found);
    hosts.set(family, { origins: found.origins, warnings: found.warnings });
  }
  return hosts;
}
