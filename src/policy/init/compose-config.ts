// Writes the text of a first `sallyport.yaml`: what was found and chosen, each part with a line that says why, and what might be
// wanted next as comments. Names hosts, presets and places; a secret never stands in it.
import { defaultPresets } from '../load/load-policy.ts';
import type { FoundCredential } from './find-credentials.ts';
import type { GitHost, ProjectSurvey } from './survey.ts';

export interface Choices {
  /** Programs of the agents that are to work. */
  readonly agents: readonly string[];
  /** Hosts of the remotes that are left as comments, each with the reason; sandboxes may reach the others. */
  readonly leftOut: ReadonlyMap<string, string>;
  /** Presets that somebody said no to. */
  readonly refused: ReadonlySet<string>;
  /** A person is asked about every host, for what nothing else covers. */
  readonly asks: boolean;
  /** Where editors find the schema; null: not said. */
  readonly schema: string | null;
}

export const dashboardAddress = '127.0.0.1:8642';

export function composeConfig(survey: ProjectSurvey, choices: Choices): string {
  const allowed = allowedPresets(survey, choices);
  return [
    ...(choices.schema === null ? [] : [`# yaml-language-server: $schema=${choices.schema}`]),
    '# What sandboxes may do here. Written by `sallyport init`, and yours to change: a running gateway reads it again.',
    '# `sallyport config check` says everything that is wrong with it; docs/policy.md explains every key.',
    'version: 1',
    '',
    '# The dashboard, on this machine alone: live requests, questions, a switch for every sandbox.',
    '# `sallyport dashboard` prints its address.',
    'listen:',
    `  dashboard: ${dashboardAddress}`,
    '',
    ...composeAllow(survey, choices, allowed),
    '',
    ...composeCredentials(survey, choices, allowed),
    ...composeGit(survey, choices),
    '',
    '# What no push may change. These are the defaults, here so that you see them.',
    'policy:',
    '  protected_branches: [main, master]',
    '  protected_paths: [".github/workflows/**"]',
    '',
  ].join('\n');
}

/** Each with the reason it is there, in the order in which it is written. Never fewer than without a file, but for a no. */
export function allowedPresets(
  { agents, credentials, gitHosts, packages }: ProjectSurvey,
  choices: Omit<Choices, 'schema'>,
): Map<string, string> {
  const allowed = new Map<string, string>();
  const add = (preset: string, why: string): void =>
    void (allowed.has(preset) || choices.refused.has(preset) || allowed.set(preset, why));
  for (const { program, presets } of agents) {
    if (!choices.agents.includes(program)) continue;
    for (const preset of presets) add(preset, program);
    // It speaks with any provider: those it has a credential of.
    if (presets.length > 0) continue;
    for (const { preset, where } of credentials.filter(({ isModel }) => isModel)) add(preset, `${program}: ${where}`);
  }
  for (const { host, preset } of gitHosts) {
    if (preset !== null && !choices.leftOut.has(host)) add(preset, 'a remote of this repository');
  }
  const github = credentials.find(({ name }) => name === 'github');
  if (github !== undefined) add('github', github.where);
  for (const { preset, file } of packages) add(preset, file);
  for (const preset of defaultPresets) add(preset, 'allowed without this file too; take out what you do not need');
  return allowed;
}

function composeAllow(survey: ProjectSurvey, choices: Choices, allowed: ReadonlyMap<string, string>): string[] {
  const lines = ['# The allowlist: what is not here is refused. A preset stands for the hosts of a service.', 'allow:'];
  for (const [preset, why] of allowed) lines.push(`  - preset: ${preset} # ${why}`);
  for (const { host, preset, ports } of survey.gitHosts) {
    const reason = choices.leftOut.get(host);
    if (reason === undefined) {
      if (preset === null) lines.push(`  - host: ${asText(host)} # a remote of this repository`);
      if (preset === null && ports.length > 0) lines.push(`    ports: [${ports.join(', ')}]`);
    } else if (preset === null || !allowed.has(preset)) {
      lines.push(
        `  # - ${preset === null ? `host: ${asText(host)}` : `preset: ${preset}`} # a remote of this repository: ${reason}`,
      );
      if (preset === null && ports.length > 0) lines.push(`  #   ports: [${ports.join(', ')}]`);
    }
  }
  for (const { name, reason } of survey.repository?.unread ?? []) lines.push(`  # ${remoteCalled(name)}: ${reason}`);
  const repository = takenRepository(survey, choices);
  if (repository !== null)
    lines.push(`  # \`sallyport run --repo ${repository}\` gives a sandbox this repository, to fetch and to push.`);
  const spare = new Map(survey.credentials.map(({ preset, where }) => [preset, where]));
  for (const [preset, where] of spare) {
    if (!allowed.has(preset)) lines.push(`  # - preset: ${preset} # there is a credential: ${where}`);
  }
  if (!allowed.has('github') && !spare.has('github')) lines.push('  # - preset: github # to read what is public there');
  const asked = ['- host: "*" # every host, for what no other entry covers', '  methods: [GET, HEAD]', '  ask: true'];
  lines.push(
    '',
    '  # With `ask: true` the request waits, and you answer on the page, in `sallyport watch` or with `sallyport approve`.',
    '  # While nobody is watching, it is refused.',
    ...asked.map((line) => `  ${choices.asks ? '' : '# '}${line}`),
  );
  return lines;
}

function composeCredentials(survey: ProjectSurvey, choices: Choices, allowed: ReadonlyMap<string, string>): string[] {
  const used = survey.credentials.filter(({ preset }) => allowed.has(preset));
  const enterprise = survey.gitHosts.filter(
    ({ host, kind, hasGh }) => kind === 'github-enterprise' && hasGh && !choices.leftOut.has(host),
  );
  const written = [
    ...used.filter(({ source }) => source !== null).map(credentialLine),
    ...enterprise.map(enterpriseLine),
  ];
  const comments = used.filter(({ source }) => source === null).map(commentLine);
  return [
    '# Where credentials come from; their values are never in this file. `sallyport secret list` shows which are set.',
    ...(written.length === 0 ? ['# credentials:'] : ['credentials:']),
    ...written,
    ...comments,
    ...(written.length + comments.length === 0
      ? ['#   anthropic: { source: { file: /absolute/path } } # a file that only you can read']
      : []),
  ];
}

function credentialLine({ name, source, where, what }: FoundCredential): string {
  return `  ${name}: { source: ${source} } # ${what} in ${where}`;
}

function enterpriseLine({ host }: GitHost, at: number): string {
  const name = at === 0 ? 'ghe' : `ghe-${at + 1}`;
  const source = `{ command: [gh, auth, token, --hostname, ${asText(host)}], ttl_seconds: 300 }`;
  return `  ${name}: { hosts: [${asText(host)}], inject: { basic: { username: x-access-token } }, source: ${source} }`;
}

function commentLine({ name, where, place }: FoundCredential): string {
  const found = place === 'variable' ? `$${where}` : where;
  return `  # ${name}: \`sallyport run\` takes it from ${found}; for \`sallyport up\`: sallyport secret set ${name}`;
}

/** Hosts of one's own, where git is to be understood and pushes judged. */
function composeGit({ gitHosts }: ProjectSurvey, { leftOut }: Choices): string[] {
  const section = (kind: GitHost['kind'], name: string, why: string): string[] => {
    const hosts = gitHosts.filter((host) => host.kind === kind);
    if (hosts.length === 0) return [];
    const live = hosts.filter(({ host }) => !leftOut.has(host));
    const names = (live.length === 0 ? hosts : live).map(({ host }) => asText(host)).join(', ');
    const mark = live.length === 0 ? '# ' : '';
    return ['', `# ${why}`, `${mark}${name}:`, `${mark}  hosts: [${names}]`];
  };
  return [
    ...section('github-enterprise', 'github', 'GitHub Enterprise: judged like github.com.'),
    ...section('git', 'git', 'Hosts that serve git: a fetch needs the repository (--repo), and pushes are judged.'),
  ];
}

/** The repository that `--repo` can name: the first of a remote whose host is taken. */
export function takenRepository({ repository }: ProjectSurvey, { leftOut }: Pick<Choices, 'leftOut'>): string | null {
  const remotes = repository?.remotes ?? [];
  return remotes.find((remote) => remote.repository !== null && !leftOut.has(remote.host))?.repository ?? null;
}

/** Git allows any letter in a name: one that could end a comment is not repeated. */
export function remoteCalled(name: string | null): string {
  if (name === null) return 'the remotes';
  return /^[\w./-]{1,80}$/.test(name) ? `remote ${name}` : 'a remote';
}

/** A name such as 1.5e3 is a number to YAML: one bad remote would make the whole file invalid. */
function asText(host: string): string {
  return /^[a-z]/.test(host) ? host : `"${host}"`;
}
