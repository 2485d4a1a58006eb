// The fields that HPACK knows by number from the start (RFC 7541 appendix A). Index 1 is the first.

const listed = `:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`;

/** One field of a table. */
export interface TableField {
  readonly name: string;
  readonly value: string;
  /** What is wrong with it; null: nothing. Looked at once, when it came. */
  readonly fault: string | null;
}

export const staticFields: readonly TableField[] = listed.split('\n').map((line) => {
  const space = line.indexOf(' ');
  return space < 0
    ? { name: line, value: '', fault: null }
    : { name: line.slice(0, space), value: line.slice(space + 1), fault: null };
});

/** By name: the first index that has it. */
export const staticIndexes: ReadonlyMap<string, number> = new Map(
  staticFields.map(({ name }, at) => [name, at + 1] as const).reverse(),
);

/** What a field takes in a table and in a header list, beside its bytes. */
export const fieldOverheadBytes = 32;
/** How large a table is as long as nobody has said otherwise; we never do. */
export const usualTableBytes = 4096;
