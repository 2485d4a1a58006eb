// Loads a ruleset and verifies it: compares what is in force afterwards with what the kernel makes of the same text, instead
// of trusting a return code. Removes exactly what it loaded: two tables with our mark, nothing else.

import { type Listed, listRules, listTableNames, listTables, loadText, rehearse } from './nft.ts';
import { FirewallError } from './pin.ts';
import { type Family, families, type Ruleset, readMark } from './ruleset.ts';

export type Standing =
  | { readonly kind: 'in-force' }
  | { readonly kind: 'absent' }
  /** The rules stand, other members are on the network. */
  | { readonly kind: 'other-members' }
  /** Rules of another plan, put there by us. */
  | { readonly kind: 'other-plan' }
  /** They carry the checksum of this plan and are not its rules. */
  | { readonly kind: 'tampered'; readonly changes: readonly string[] };

/** How what is live compares with what is asked. Changes nothing. */
export async function judgeFirewall(ruleset: Ruleset): Promise<Standing> {
  return compare(ruleset, await rehearse(ruleset.text, ruleset.table), await listTables(ruleset.table));
}

/**
 * Returns what it found; afterwards the ruleset is in force, or it throws. Where it is in force already, nothing is touched.
 * `rehearsed`: what the kernel makes of this very text, where that is known already.
 */
export async function applyFirewall(ruleset: Ruleset, rehearsed?: Listed): Promise<Standing> {
  const wanted = rehearsed ?? (await rehearse(ruleset.text, ruleset.table));
  checkRehearsal(ruleset, wanted);
  const found = await compare(ruleset, wanted, await listTables(ruleset.table));
  if (found.kind === 'in-force') return found;
  await loadText(found.kind === 'other-members' ? ruleset.membersText : ruleset.text);
  const after = await compare(ruleset, wanted, await listTables(ruleset.table));
  if (after.kind !== 'in-force') {
    throw new FirewallError(
      `the ruleset was loaded, but what is in force is not what was asked (${after.kind})`,
      'Something else changes the tables of this host at the same time. Look: nft list ruleset',
    );
  }
  return found;
}

/** Both tables of a bridge; returns what was removed. A table that does not carry our mark is left alone. */
export async function removeFirewall(table: string): Promise<readonly string[]> {
  const listed = await listTables(table);
  const there = families.filter((family) => listed[family] !== null);
  for (const family of there) {
    if (markIn(listed[family]!) !== null) continue;
    throw new FirewallError(
      `table ${family} ${table} has our name, but not our mark: something else may have made it`,
      `Look at it (nft list table ${family} ${table}); remove it with: nft delete table ${family} ${table}`,
    );
  }
  await loadText(there.map((family) => `delete table ${family} ${table}\n`).join(''));
  return there.map((family) => `table ${family} ${table}`);
}

/** Names of the tables that carry our mark. */
export async function findFirewalls(): Promise<readonly string[]> {
  const names = [...new Set((await listTableNames()).map(({ table }) => table))];
  const ours: string[] = [];
  for (const table of names) {
    const listed = await listTables(table);
    if (families.some((family) => listed[family] !== null && markIn(listed[family]) !== null)) ours.push(table);
  }
  return ours;
}

async function compare(ruleset: Ruleset, wanted: Listed, live: Listed): Promise<Standing> {
  if (families.every((family) => live[family] === null)) return { kind: 'absent' };
  if (families.every((family) => live[family] === wanted[family])) return { kind: 'in-force' };
  const sameRules = families.every((family) => withoutMembers(live[family]) === withoutMembers(wanted[family]));
  if (sameRules) return { kind: 'other-members' };
  const marks = families.map((family) => (live[family] === null ? null : markIn(live[family])));
  const foreign = marks.find((mark) => mark !== null && mark.checksum !== ruleset.checksum);
  if (foreign != null) return { kind: 'other-plan' };
  return { kind: 'tampered', changes: await changesIn(ruleset, live) };
}

/** A rule that the kernel silently left out would be missing from the comparison too: so the rehearsal itself is counted. */
function checkRehearsal({ rules, table }: Ruleset, wanted: Listed): void {
  for (const family of families) {
    const listed = [...(wanted[family] ?? '').matchAll(/ comment "([^"]*)"$/gm)].map(([, comment]) => comment);
    const missing = rules[family].filter((comment) => !listed.includes(comment));
    if (missing.length === 0) continue;
    throw new FirewallError(`the kernel does not know what table ${family} ${table} needs: ${missing.join('; ')}`);
  }
}

async function changesIn({ rules, table }: Ruleset, live: Listed): Promise<string[]> {
  const changes: string[] = [];
  for (const family of families) {
    const where = `table ${family} ${table}`;
    if (live[family] === null) {
      changes.push(`${where} is gone`);
      continue;
    }
    const there = (await listRules(family, table)).map(({ comment }) => comment);
    for (const comment of rules[family]) {
      if (!there.includes(comment)) changes.push(`${where}: a rule is gone: ${comment}`);
    }
    for (const comment of there) {
      if (!rules[family].includes(comment)) changes.push(`${where}: a rule was added: ${comment || '(no comment)'}`);
    }
  }
  return changes.length > 0 ? changes : ['a rule, a chain or a setting of a table reads differently'];
}

const elements = /\n\t\telements = \{[^}]*\}/g;

function withoutMembers(listed: string | null): string | null {
  return listed === null ? null : listed.replaceAll(elements, '');
}

function markIn(listed: string): { readonly bridge: string; readonly checksum: string } | null {
  const [, comment] = /^\tcomment "([^"]*)"$/m.exec(listed) ?? [];
  return comment === undefined ? null : readMark(comment);
}

export interface RefusedFirewall {
  readonly family: Family;
  readonly comment: string;
  readonly packets: number;
}

/** What the rules in force have refused so far. */
export async function countRefusals(table: string): Promise<readonly RefusedFirewall[]> {
  const rules = await Promise.all(families.map((family) => listRules(family, table)));
  return rules
    .flat()
    .filter(({ verdict }) => verdict === 'drop')
    .map(({ family, comment, packets }) => ({ family, comment, packets }));
}
