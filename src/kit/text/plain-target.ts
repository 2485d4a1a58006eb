// How a plain connection is written where a URL is asked for: `tcp://host:port`, and nothing more.

/** `host:port`; null: it is something else. */
export function plainTarget(url: string): string | null {
  return /^tcp:\/\/([^/?#@\s]+:\d{1,5})\/?$/i.exec(url)?.[1] ?? null;
}
