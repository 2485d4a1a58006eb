// The files of the page, read once at the start and served from memory by their exact names: no name of a request ever
// reaches the disk. Only kinds of files that a page has; nothing is served that is not in that folder.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';

export interface PageAsset {
  readonly type: string;
  readonly body: Buffer;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};

/** Some hundred times what the page is. */
const maxBytes = 8 * 1024 * 1024;

/** By path (`/page.css`); the index is `/` too. Files beside them that no page has are left out. */
export function readPageAssets(folder: string): ReadonlyMap<string, PageAsset> {
  const assets = new Map<string, PageAsset>();
  let bytes = 0;
  for (const name of namesBelow(folder)) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const body = readFileSync(join(folder, name));
    bytes += body.length;
    if (bytes > maxBytes) throw new Error(`the files of the page in ${folder} are larger than ${maxBytes} bytes`);
    assets.set(`/${name}`, { type, body });
  }
  const index = assets.get('/index.html');
  if (index === undefined) throw new Error(`the page is not complete: ${join(folder, 'index.html')} is not there`);
  return assets.set('/', index);
}

/** In folders too, `modules/feed.js`; links are not followed. */
function namesBelow(folder: string, prefix = ''): string[] {
  const names: string[] = [];
  for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
    const name = `${prefix}${entry.name}`;
    if (entry.isDirectory()) names.push(...namesBelow(folder, `${name}/`));
    else if (entry.isFile() && statSync(join(folder, name)).size <= maxBytes) names.push(name);
  }
  return names;
}
