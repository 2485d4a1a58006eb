// Domains under which strangers get names of their own. A wildcard there would let in whoever rents one: below them, and above
// them, hosts are named one by one. The Public Suffix List says most of it; what is kept here are names it lacks, since nobody
// asked for them to be in it. Not complete, and cannot be: where a name is in doubt, it is treated as if it were here.
import { publicSuffixes, registrableDomain, suffixOf } from './public-suffixes.ts';

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
