// Speaks to nftables: loads a text in one transaction, reads back what is in force, and finds out what the kernel makes of a
// text by loading it in an empty network namespace. Never touches other tables than the named ones.
import { FirewallError } from './pin.ts';
import { type Family, families } from './ruleset.ts';
import { CommandError, runSystem } from './system-command.ts';

/** Both tables as `nft` lists them, without counters; null: it is not there. */
export type Listed = Readonly<Record<Family, string | null>>;

export interface LiveRule {
  readonly family: Family;
  readonly chain: string;
  readonly handle: number;
  readonly comment: string;
  readonly packets: number;
  readonly verdict: 'accept' | 'drop' | 'other';
}

export async function loadText(text: string): Promise<void> {
  try {
    await runSystem('nft', ['-f', '-'], text);
  } catch (error) {
    throw explain(error);
  }
}

export async function listTables(table: string): Promise<Listed> {
  const [bridge, inet] = await Promise.all(families.map((family) => listTable(family, table)));
  return { bridge: bridge ?? null, inet: inet ?? null };
}

async function listTable(family: Family, table: string): Promise<string | null> {
  try {
    return await runSystem('nft', ['--stateless', 'list', 'table', family, table]);
  } catch (error) {
    if (isMissing(error)) return null;
    throw explain(error);
  }
}

/** What both tables of this text look like once the kernel has them. */
export async function rehearse(text: string, table: string): Promise<Listed> {
  const script = `nft -f - && nft --stateless list table bridge ${table} && echo ${divider} && nft --stateless list table inet ${table}`;
  try {
    const listed = await runSystem('unshare', ['--net', '--', 'sh', '-c', script], text);
    const [bridge, inet] = listed.split(`${divider}\n`);
    return { bridge: bridge ?? null, inet: inet ?? null };
  } catch (error) {
    throw explain(error);
  }
}

const divider = 'the-other-table';

/** Whether the kernel can match the name of a bridge (CONFIG_NFT_BRIDGE_META); found by trying, where it does nothing. */
export async function kernelSeesBridges(): Promise<boolean> {
  const text = `table bridge sallyport_try {
    chain try {
      type filter hook prerouting priority filter; policy accept;
      meta ibrname "br0" drop
    }
    chain try_out {
      type filter hook output priority filter; policy accept;
      meta obrname "br0" drop
    }
  }\n`;
  try {
    await runSystem('unshare', ['--net', '--', 'nft', '-f', '-'], text);
    return true;
  } catch (error) {
    if (error instanceof CommandError && /not supported|No such file/i.test(error.complaint)) return false;
    throw explain(error);
  }
}

/** The rules in force, in their order, with what they have counted. */
export async function listRules(family: Family, table: string): Promise<LiveRule[]> {
  let text: string;
  try {
    text = await runSystem('nft', ['--json', '--terse', 'list', 'table', family, table]);
  } catch (error) {
    if (isMissing(error)) return [];
    throw explain(error);
  }
  const { nftables } = JSON.parse(text) as { nftables: readonly { readonly rule?: JsonRule }[] };
  return nftables.flatMap(({ rule }) => (rule === undefined ? [] : [asRule(family, rule)]));
}

/** Names of tables that begin like ours, of either family. */
export async function listTableNames(): Promise<{ readonly family: Family; readonly table: string }[]> {
  let text: string;
  try {
    text = await runSystem('nft', ['list', 'tables']);
  } catch (error) {
    throw explain(error);
  }
  return [...text.matchAll(/^table (bridge|inet) (sallyport_\w+)$/gm)].map(([, family, table]) => ({
    family: family as Family,
    table: table!,
  }));
}

interface JsonRule {
  readonly chain: string;
  readonly handle: number;
  readonly comment?: string;
  readonly expr: readonly Readonly<Record<string, unknown>>[];
}

function asRule(family: Family, { chain, handle, comment = '', expr }: JsonRule): LiveRule {
  const counter = expr.find((part) => 'counter' in part)?.counter as { packets?: number } | undefined;
  const verdict = expr.some((part) => 'drop' in part)
    ? 'drop'
    : expr.some((part) => 'accept' in part)
      ? 'accept'
      : 'other';
  return { family, chain, handle, comment, packets: counter?.packets ?? 0, verdict };
}

function isMissing(error: unknown): boolean {
  return error instanceof CommandError && error.complaint.includes('No such file or directory');
}

function explain(error: unknown): unknown {
  if (!(error instanceof CommandError)) return error;
  if (/not permitted|must be root/i.test(error.complaint)) {
    return new FirewallError('only root may see and change the rules of the host', 'Run it with sudo.');
  }
  return new FirewallError(`the kernel did not take the ruleset: ${error.message}`, error.complaint.trim());
}
