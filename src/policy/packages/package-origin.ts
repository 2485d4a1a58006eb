// One place packages come from, as the allowlist needs it: scheme, host, port. Reading a URL here drops its user name,
// password, path and query, so that nothing secret in a package manager's file reaches the policy.
import { parseHostName } from '../host-pattern.ts';

export interface PackageOrigin {
  readonly scheme: 'https' | 'http';
  readonly host: string;
  readonly port: number;
  /** Path patterns, where only a part of the host is meant. */
  readonly paths?: readonly string[];
}

export class OriginList {
  readonly origins: PackageOrigin[] = [];
  readonly warnings: string[] = [];

  /** Takes a URL as it stands in a configuration; false when it is not one of the web. */
  addUrl(text: string): boolean {
    // cargo writes sparse+https:, apt mirror+http: and tor+http:, npm and gem plain URLs.
    const url = parseUrl(text.trim().replace(/^(?:[a-z]+\+)+(?=https?:)/i, ''));
    if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
    const scheme = url.protocol === 'https:' ? 'https' : 'http';
    const host = parseHostName(url.hostname);
    if ('problem' in host) {
      // The host alone: the rest of the URL may hold a password.
      this.warn(
        `skipped ${url.hostname}: give it a name with an address under \`upstream.resolve\` and allow that name`,
      );
      return true;
    }
    const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port);
    this.#push({ scheme, host: host.value, port });
    return true;
  }

  addHttps(host: string, paths?: readonly string[]): void {
    this.#push({ scheme: 'https', host, port: 443, ...(paths ? { paths } : {}) });
  }

  has(host: string): boolean {
    return this.origins.some((origin) => origin.host === host);
  }

  warn(message: string): void {
    if (!this.warnings.includes(message)) this.warnings.push(message);
  }

  #push(origin: PackageOrigin): void {
    const same = (other: PackageOrigin): boolean =>
      other.host === origin.host && other.port === origin.port && other.scheme === origin.scheme;
    if (!this.origins.some(same)) this.origins.push(origin);
  }
}

function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
