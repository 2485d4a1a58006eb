// Settings of git in a file, as git itself reads them, without what they include; and the short list of those that are harmless.
import { execFile } from 'node:child_process';
import { ownPath } from '../../kit/process/own-path.ts';

export interface GitSetting {
  readonly key: string;
  /** Null: a key without a value, which git takes for true. */
  readonly value: string | null;
}

const timeoutMs = 2000;
const maxBuffer = 4 * 1024 * 1024;

/** Null: git cannot read it. Without git on the host nothing here can act. */
export function readSettings(text: string): Promise<readonly GitSetting[] | null> {
  const options = {
    cwd: '/',
    env: { PATH: ownPath(), GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: '/nonexistent' },
    timeout: timeoutMs,
    maxBuffer,
  };
  return new Promise((done) => {
    const args = ['config', '--file', '-', '--no-includes', '--null', '--list'];
    const child = execFile('git', args, options, (error, stdout) => {
      if (error !== null) return done('code' in error && error.code === 'ENOENT' ? [] : null);
      done(stdout.split('\0').filter(Boolean).map(parse));
    });
    // It may have ended before it has read everything.
    child.stdin?.on('error', () => {});
    child.stdin?.end(text);
  });
}

function parse(entry: string): GitSetting {
  const at = entry.indexOf('\n');
  return at < 0 ? { key: entry, value: null } : { key: entry.slice(0, at), value: entry.slice(at + 1) };
}

/** What only says how a repository is kept. Whatever is not on it is named, never the other way round. */
const harmless =
  /^(?:core\.(?:repositoryformatversion=[01]|(?:filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)=(?:true|false))|user\.(?:name|email)=.*|branch\.[^=]+\.(?:remote=\w[\w-]*|merge=refs\/heads\/[^=]+)|remote\.[^=]+\.fetch=\+?refs\/heads\/[^=]*:refs\/remotes\/[^=]*|submodule\.[^=]+\.active=true)$/i;

export function isHarmless(setting: GitSetting): boolean {
  return harmless.test(asText(setting));
}

export function asText({ key, value }: GitSetting): string {
  return value === null ? key : `${key}=${value}`;
}

/** The words of settings that may name a file or a folder of hooks: read loosely, since too many do no harm. */
export function wordsInSettings(text: string): { readonly word: string; readonly isHooks: boolean }[] {
  return [...text.matchAll(/^\s*(?:\[.*\]\s*)?([\w-]+)\s*=\s*(.*)$/gm)].flatMap(([, key, value]) => {
    if (/^(?:remote|merge|fetch|url)$/i.test(key!)) return [];
    const words = value!.split(/[\s"';|&()!]+/).filter((word) => word !== '');
    return words.map((word) => ({ word, isHooks: /^hookspath$/i.test(key!) }));
  });
}
