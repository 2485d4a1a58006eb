// Which package managers a project uses, by the files that each of them cannot do without. Only names of files are looked at:
// which registries are used is for the machine's own configuration to say, never for a project's.

const signs: readonly (readonly [preset: string, files: RegExp])[] = [
  ['npm', /^(?:package\.json|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|deno\.jsonc?)$/],
  ['pypi', /^(?:pyproject\.toml|requirements[\w.-]*\.(?:txt|in)|setup\.(?:py|cfg)|Pipfile|poetry\.lock|uv\.lock)$/],
  ['golang', /^(?:go\.mod|go\.work)$/],
  ['crates', /^Cargo\.(?:toml|lock)$/],
  ['rubygems', /^(?:Gemfile|Gemfile\.lock|gems\.rb|[\w.-]+\.gemspec)$/],
  ['maven', /^(?:pom\.xml|build\.gradle(?:\.kts)?|settings\.gradle(?:\.kts)?)$/],
  ['packagist', /^composer\.(?:json|lock)$/],
];

export interface FoundPackages {
  readonly preset: string;
  /** The file that says so. */
  readonly file: string;
}

/** `folders`: where the user stands, and the top of the repository. */
export function findPackages(
  folders: readonly string[],
  listDirectory: (path: string) => readonly string[],
): readonly FoundPackages[] {
  const names = [...new Set(folders)].flatMap((folder) => listDirectory(folder));
  return signs.flatMap(([preset, files]) => {
    const file = names.find((name) => files.test(name));
    return file === undefined ? [] : [{ preset, file }];
  });
}
