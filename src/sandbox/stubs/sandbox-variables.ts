// The whole environment of a sandbox, by allowlist. Never copies a credential of the host, nor the address of a way around
// the door: what the user asks for by name is judged by its name and by its value.

import { liesInAny, normalPath } from '../files/path-relations.ts';
import { systemFolders } from '../files/system-mounts.ts';
import { LaunchError } from '../run/sandbox-plan.ts';
import { looksLikeCredential, looksLikeSecretValue } from './credential-variables.ts';

type Variables = Readonly<Record<string, string>>;

export interface EnvironmentOptions {
  /** The user's environment as it was at the start, before any credential was taken out of it. */
  readonly from: Readonly<Record<string, string | undefined>>;
  /** `--env NAME` (copied) or `--env NAME=VALUE`. */
  readonly extra: readonly string[];
  readonly placeholders: Variables;
  readonly trust: Variables;
  readonly git: Variables;
  /** `PlannedMounts.path`; null: the image's own. */
  readonly path: readonly string[] | null;
  /** The home and the user's name as the sandbox sees them. */
  readonly home: string;
  readonly user: string;
}

export interface PlannedEnvironment {
  readonly variables: Variables;
  readonly notices: readonly string[];
}

/** How the terminal looks and which language is spoken. XDG_* stay out: the sandbox's home has everything in its usual place. */
const copied =
  /^(?:TERM|COLORTERM|TERM_PROGRAM|TERM_PROGRAM_VERSION|COLORFGBG|VTE_VERSION|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|LANG|LANGUAGE|LC_[A-Z]+|TZ|SHELL|EDITOR|VISUAL|PAGER|LESS|LS_COLORS|CI|DEBIAN_FRONTEND|SOURCE_DATE_EPOCH)$/;

/** Where tools are: copied when it is an absolute path, and no use in an image. */
const copiedPlaces =
  /^(?:JAVA_HOME|GOROOT|GOPATH|PYENV_ROOT|RBENV_ROOT|NODENV_ROOT|NVM_DIR|NVM_BIN|VOLTA_HOME|RUSTUP_HOME|CARGO_HOME|BUN_INSTALL|PNPM_HOME|ASDF_DIR|ASDF_DATA_DIR|MISE_DATA_DIR|SDKMAN_DIR|VIRTUAL_ENV|CONDA_PREFIX|HOMEBREW_PREFIX|HOMEBREW_CELLAR|TERMINFO)$/;

/** They lead to something of the host that is not in the sandbox, or would be a way around the door if it were. */
const ofTheHost =
  /^(?:(?:HTTP|HTTPS|ALL|FTP|NO|RSYNC)_PROXY|SSH_AUTH_SOCK|SSH_AGENT_PID|SSH_CONNECTION|SSH_CLIENT|GPG_AGENT_INFO|GPG_TTY|DBUS_.*|DOCKER_HOST|CONTAINER_HOST|BUILDKIT_HOST|DOCKER_CONFIG|KUBECONFIG|XDG_RUNTIME_DIR|WAYLAND_.*|DISPLAY|XAUTHORITY|SUDO_.*|SALLYPORT_.*|GIT_ASKPASS|SSH_ASKPASS|VSCODE_.*|TMUX|TMUX_PANE|INVOCATION_ID|NOTIFY_SOCKET|LISTEN_.*)$/i;

/** Shorter ones turn up in harmless values. */
const shortestSecret = 8;

/** Throws LaunchError for an `extra` that must not go in. */
export function planEnvironment(options: EnvironmentOptions): PlannedEnvironment {
  const { from, placeholders, trust, git, path, home, user } = options;
  const secrets = Object.entries(from).flatMap(([name, value]) =>
    value !== undefined && value.length >= shortestSecret && looksLikeCredential(name) ? [{ name, value }] : [],
  );
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value === undefined || !mayCopy(name, value, path !== null)) continue;
    if (secrets.some((secret) => value.includes(secret.value)) || looksLikeSecretValue(value)) continue;
    variables[name] = value;
  }
  variables.SHELL = shellInside(variables.SHELL, path !== null);
  const ours = { ...trust, ...git, HOME: home };
  Object.assign(variables, { USER: user, LOGNAME: user }, placeholders, ours);
  if (path !== null) variables.PATH = path.join(':');

  const notices: string[] = [];
  for (const text of options.extra) {
    const asked = parseVariable(text, from);
    if (asked === null) {
      notices.push(`--env ${text}: you have no such variable, so the sandbox gets none`);
      continue;
    }
    const { name, value, given } = asked;
    if (name === 'PATH' && !given) continue;
    if (Object.hasOwn(ours, name)) refuse(name, 'the sandbox needs its own value to work', 'Leave it out.');
    if (!given) refuseCopy(name, value);
    const secret = secrets.find((one) => value.includes(one.value));
    if (secret !== undefined)
      refuse(name, `its value is that of ${secret.name}, which looks like a credential`, throughTheDoor);
    if (Object.hasOwn(placeholders, name))
      notices.push(`--env ${name} takes the place of a placeholder: the door still puts the real credential in`);
    variables[name] = value;
  }
  return { variables, notices };
}

const throughTheDoor =
  'Credentials stay outside: name it under `credentials` in sallyport.yaml, and the door puts it into the requests that need it.';

function refuseCopy(name: string, value: string): void {
  if (ofTheHost.test(name))
    refuse(
      name,
      'it points to something on this host that is not in the sandbox',
      `Set it to something else: --env ${name}=VALUE.`,
    );
  if (looksLikeCredential(name)) refuse(name, 'by its name it is a credential', throughTheDoor);
  if (looksLikeSecretValue(value)) refuse(name, 'its value looks like a credential', throughTheDoor);
}

function refuse(name: string, reason: string, hint: string): never {
  throw new LaunchError(`--env ${name} may not go into the sandbox: ${reason}`, hint);
}

function parseVariable(
  text: string,
  from: EnvironmentOptions['from'],
): { readonly name: string; readonly value: string; readonly given: boolean } | null {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw new LaunchError(
      `--env ${JSON.stringify(text)} is not NAME or NAME=VALUE`,
      'A name has letters, digits and _.',
    );
  const value = at === -1 ? from[name] : text.slice(at + 1);
  if (value?.includes('\0')) refuse(name, 'a value cannot hold a NUL byte', 'Check the value.');
  return value === undefined ? null : { name, value, given: at !== -1 };
}

function mayCopy(name: string, value: string, sameSystem: boolean): boolean {
  return copied.test(name) || (sameSystem && copiedPlaces.test(name) && value.startsWith('/') && !value.includes('\0'));
}

/** An image may have no other shell than this; neither may the sandbox see one outside the system. */
function shellInside(wanted: string | undefined, sameSystem: boolean): string {
  const path = sameSystem ? normalPath(wanted ?? '') : null;
  return path !== null && liesInAny(path, systemFolders) ? path : '/bin/sh';
}
