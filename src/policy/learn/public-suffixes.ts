// The Public Suffix List, with its private part: under which names anybody can register one. The list itself and not only an
// answer for a host: a wildcard also reaches every suffix below it, and only the list knows those. Read when somebody asks.
import { readFileSync } from 'node:fs';
import { domainToASCII } from 'node:url';
import { inPackage } from '../../kit/files/package-root.ts';

export interface PublicSuffixes {
  /** As they stand in the list, e.g. `co.uk` or `*.ck`; true: of its private part. */
  readonly rules: ReadonlyMap<string, boolean>;
  /** What a rule with a star leaves out, e.g. `www.ck`. */
  readonly exceptions: ReadonlySet<string>;
  /** The names that have a suffix somewhere below them. */
  readonly above: ReadonlySet<string>;
}

let list: PublicSuffixes | null = null;

export function publicSuffixes(): PublicSuffixes {
  list ??= readList(readFileSync(inPackage('config', 'public_suffix_list.dat'), 'utf8'));
  return list;
}

/** The suffix that a name ends in, by the longest rule; where none is known, its last label. */
export function suffixOf(name: string): { readonly suffix: string; readonly isPrivate: boolean } {
  const { rules, exceptions } = publicSuffixes();
  for (const tail of tailsOf(name)) if (exceptions.has(tail)) return { suffix: parentOf(tail), isPrivate: false };
  for (const tail of tailsOf(name)) {
    const kind = rules.get(tail) ?? rules.get(`*.${parentOf(tail)}`);
    if (kind !== undefined) return { suffix: tail, isPrivate: kind };
  }
  return { suffix: name.slice(name.lastIndexOf('.') + 1), isPrivate: false };
}

/** What somebody has registered: one label more than the suffix. Null: the name is a suffix itself. */
export function registrableDomain(name: string): string | null {
  const { suffix } = suffixOf(name);
  if (suffix.length === name.length) return null;
  const before = name.slice(0, -suffix.length - 1);
  return `${before.slice(before.lastIndexOf('.') + 1)}.${suffix}`;
}

/** As publicsuffix.org writes it: a rule to a line, up to its first space; `!` before what a star leaves out. */
export function readList(text: string): PublicSuffixes {
  const rules = new Map<string, boolean>();
  const above = new Set<string>();
  const exceptions = new Set<string>();
  let isPrivate = false;
  for (const line of text.split('\n')) {
    if (line.includes('===BEGIN PRIVATE DOMAINS===')) isPrivate = true;
    const rule = line.split(/\s/, 1)[0]!;
    if (rule === '' || rule.startsWith('//')) continue;
    if (rule.startsWith('!')) {
      exceptions.add(inAscii(rule.slice(1)));
      continue;
    }
    const name = inAscii(rule);
    rules.set(name, isPrivate);
    for (const tail of tailsOf(parentOf(name))) above.add(tail);
  }
  if (rules.size === 0) throw new Error('the package is not complete: its Public Suffix List is empty');
  return { rules, above, exceptions };
}

/** As hosts are compared. A star is no name by itself. */
function inAscii(rule: string): string {
  return rule.startsWith('*.') ? `*.${inAscii(rule.slice(2))}` : domainToASCII(rule);
}

/** `a.b.c`, `b.c`, `c`. */
function tailsOf(name: string): string[] {
  const tails: string[] = [];
  for (let tail = name; tail !== ''; tail = parentOf(tail)) tails.push(tail);
  return tails;
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}

// Domains under which strangers get names of their own. A wildcard there would let in whoever rents one: below them, and above
// them, hosts are named one by one. The Public Suffix List says most of it; what is kept here are names it lacks, since nobody
// asked for them to be in it. Not complete, and cannot be: where a name is in doubt, it is treated as if it were here.
const alsoShared: ReadonlySet<string> = new Set(
  `
  gitpod.io cloudapp.azure.com azurecontainerapps.io vo.msecnd.net storage.googleapis.com firebaseio.com googleusercontent.com
  sites.google.com herokussl.com netlify.com r2.cloudflarestorage.com b-cdn.net kxcdn.com stackpathcdn.com hwcdn.net
  azioncdn.net bunnycdn.com llnwd.net wasabisys.com backblazeb2.com loca.lt serveo.net replicate.delivery wordpress.com
  tumblr.com weebly.com squarespace.com substack.com medium.com readthedocs.org rtfd.io zendesk.com atlassian.net statuspage.io
  freshdesk.com sharepoint.com force.com my.site.com service-now.com okta.com auth0.com snowflakecomputing.com oraclecloud.com
  oraclevcn.com aliyuncs.com myqcloud.com bcebos.com myhuaweicloud.com qiniucdn.com volccdn.com nip.io sslip.io xip.io
  requestbin.com pipedream.net beeceptor.com requestcatcher.com oast.pro oast.fun burpcollaborator.net sourceforge.net sf.net
  launchpad.net ipfs.io arweave.net appsmith.com retool.com neocities.org mooo.com 000webhostapp.com tripod.com jimdosite.com
  godaddysites.com itch.io bandcamp.com livejournal.com deviantart.com fandom.com typepad.com hubspotpagebuilder.com
  mailchimpsites.com imgix.net prismic.io jfrog.io visualstudio.com databricks.com azuredatabricks.net azurecr.io mongodb.net
  sentry.io algolia.net dropboxusercontent.com slack.com zoho.com mybluemix.net twil.io wpengine.com
`
    .trim()
    .split(/\s+/),
);

// Endings that are mostly used to host what others made.
const hostingEndings = /\.(?:app|dev|page|pages|run|site|cloud|sh|xyz|space|live|online|link|host|website|tech|me)$/;
// Names are sold below short names in a country's zone, and not all who do so are in the list. A short name of somebody's own is
// taken for one as well: then hosts are listed.
const shortInACountry = /^[^.]{1,4}\.[a-z]{2}$/;

/** Whether strangers may have names below this domain, or this domain holds one where they do. */
export function isShared(domain: string): boolean {
  const { suffix, isPrivate } = suffixOf(domain);
  // Below a suffix of the private part, too: what somebody rents today another may rent tomorrow.
  if (suffix === domain || isPrivate || publicSuffixes().above.has(domain)) return true;
  // Blogs have the same name under the endings of many countries.
  if (hostingEndings.test(domain) || shortInACountry.test(domain) || domain.startsWith('blogspot.')) return true;
  for (const shared of alsoShared) {
    if (domain === shared || domain.endsWith(`.${shared}`) || shared.endsWith(`.${domain}`)) return true;
  }
  return false;
}

/** For tests of what is promised. */
export function ownSharedDomains(): readonly string[] {
  return [...alsoShared];
}

/** The part of a host that one owner has registered. Null: the host is no subdomain of one. */
export function ownersDomain(host: string): string | null {
  const domain = registrableDomain(host);
  return domain === host ? null : domain;
}
