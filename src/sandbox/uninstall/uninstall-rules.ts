// The firewall rules that `sallyport firewall apply` put on this host: tables of nftables with our name and our comment.
// Nothing else in the ruleset is looked at, and a table that only has our name stays.
import { execFile } from 'node:child_process';
import type { Found, KeptItem, Removable } from './uninstall-item.ts';

const program = 'nft';
const timeoutMs = 10_000;
const familyAndName = /^table (ip|ip6|inet|arp|bridge|netdev) (sallyport_\w+)$/;

export interface RulesOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Whether the comment of a table is the one that `firewall apply` writes. */
  readonly isMark: (comment: string) => boolean;
  readonly isRoot?: boolean;
}

export async function findRules({ env, isMark, isRoot = process.geteuid?.() === 0 }: RulesOptions): Promise<Found> {
  const nft = runNft(env);
  if (!isRoot) return { removable: [], kept: [notLooked('only root can look at them')] };
  let listed: string;
  try {
    listed = await nft(['list', 'tables']);
  } catch (error) {
    // Without the program nobody can have applied any.
    if (isMissing(error)) return { removable: [], kept: [] };
    return { removable: [], kept: [notLooked(messageOf(error))] };
  }
  const removable: Removable[] = [];
  const kept: KeptItem[] = [];
  for (const line of listed.split('\n')) {
    const [, family, name] = familyAndName.exec(line.trim()) ?? [];
    if (family === undefined || name === undefined) continue;
    const what = `table ${family} ${name}`;
    const how = `nft delete ${what}`;
    if (!isMark(commentOf(await nft(['--terse', 'list', 'table', family, name])))) {
      kept.push({
        what,
        why: 'has our name, but not our mark: something else may have made it',
        how: `Look at it, then: ${how}`,
      });
      continue;
    }
    const detail = 'firewall rules: they no longer hold back the sandboxes on that network';
    const remove = async (): Promise<void> => {
      await nft(['delete', 'table', family, name]);
    };
    removable.push({ kind: 'rules', what, detail, how, remove });
  }
  return { removable, kept };
}

/** Of the table itself: a set, a chain or a rule in it is further in. */
function commentOf(listed: string): string {
  return /^\tcomment "([^"]*)"$/m.exec(listed)?.[1] ?? '';
}

function notLooked(why: string): KeptItem {
  return {
    what: 'firewall rules',
    why: `were not looked for: ${why}`,
    how: 'Where `sallyport firewall apply` was used: sudo sallyport firewall remove --all',
  };
}

type Nft = (args: readonly string[]) => Promise<string>;

function runNft(env: NodeJS.ProcessEnv): Nft {
  // It is in sbin, which is not everybody's PATH.
  const path = `${env.PATH ?? ''}:/usr/sbin:/sbin`;
  return (args) =>
    new Promise((resolve, reject) => {
      execFile(program, args, { env: { PATH: path }, timeout: timeoutMs }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(isMissing(error) ? error : new Error(stderr.trim().split('\n')[0] || error.message));
      });
    });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
