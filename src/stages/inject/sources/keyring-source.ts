// A credential in the keyring of the gateway's user: the Secret Service on Linux (GNOME Keyring, KWallet, KeePassXC), the
// login keychain on macOS. Asked through the program that comes with it, so that no native library is loaded here. Says in
// words what is wrong with the keyring; never asks a person anything.
import { type CommandFailure, CommandSource, type CommandSourceOptions } from './command-source.ts';

export type KeyringAttributes = readonly (readonly [name: string, value: string])[];

/** A keyring is at hand: asking it again now and then costs little, and a changed entry is soon taken up. */
const ttlSeconds = 300;

export interface KeyringOptions extends Pick<CommandSourceOptions, 'env' | 'now' | 'timeLimitMs'> {
  readonly platform?: NodeJS.Platform;
}

export class KeyringSource extends CommandSource {
  constructor(name: string, attributes: KeyringAttributes, options: KeyringOptions = {}) {
    const { platform = process.platform, ...rest } = options;
    const explain = (failure: CommandFailure) =>
      platform === 'darwin' ? explainKeychain(failure, attributes) : explainSecretService(failure, attributes);
    // What it says of its troubles is read below, so it says it in one language.
    const env = { ...(rest.env ?? process.env), LC_ALL: 'C.UTF-8' };
    super(name, keyringArgv(attributes, platform), ttlSeconds, { ...rest, env, explain });
  }
}

/** macOS knows entries by `service` and `account` alone; there other attributes are part of no question. */
export function keyringArgv(attributes: KeyringAttributes, platform: NodeJS.Platform = process.platform): string[] {
  if (platform !== 'darwin') return ['secret-tool', 'lookup', ...attributes.flat()];
  const asked = new Map(attributes);
  const flags = [
    ['-s', asked.get('service')],
    ['-a', asked.get('account')],
  ] as const;
  return ['security', 'find-generic-password', '-w', ...flags.flatMap(([flag, text]) => (text ? [flag, text] : []))];
}

function explainSecretService({ kind, stderr, printed }: CommandFailure, attributes: KeyringAttributes): string | null {
  if (kind === 'not-found') {
    return 'secret-tool, which asks the keyring, was not found: install libsecret-tools (Fedora, Arch: libsecret)';
  }
  if (kind === 'too-slow')
    return 'the keyring did not answer: it waits for somebody to unlock it, so log in and do that';
  if (/autolaunch|could not connect|given address|connection refused/i.test(stderr)) {
    return 'the gateway has no session bus, so it reaches no keyring: start it in the session of the desktop (DBUS_SESSION_BUS_ADDRESS), or use another source, e.g. age';
  }
  if (/ServiceUnknown|not provided by any/i.test(stderr)) {
    return 'no keyring runs on the session bus: start one (gnome-keyring, KWallet with its Secret Service, KeePassXC)';
  }
  // It says the same, nothing, of an entry that is not there and of one that is locked.
  if (stderr.trim() === '' && !printed) {
    const words = attributes.flat().map(quoted).join(' ');
    return `the keyring has no ${described(attributes)}, or is locked: unlock it, or run  secret-tool store --label Sallyport ${words}`;
  }
  return null;
}

function explainKeychain({ kind, stderr }: CommandFailure, attributes: KeyringAttributes): string | null {
  if (kind === 'too-slow') return 'the keychain did not answer: it waits for somebody to allow the access';
  if (/could not be found/i.test(stderr)) {
    const flags = keyringArgv(attributes, 'darwin').slice(3).map(quoted).join(' ');
    return `the keychain has no ${described(attributes)}: run  security add-generic-password -w ${flags}`;
  }
  if (/interaction is not allowed|keychain.*locked/i.test(stderr)) {
    return 'the keychain is locked: run  security unlock-keychain';
  }
  return null;
}

function described(attributes: KeyringAttributes): string {
  return `entry with ${attributes.map(([name, value]) => `${name} ${value}`).join(', ')}`;
}

/** For a line that somebody copies into a shell. */
function quoted(word: string): string {
  return /^[\w./:@=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
