// Names and words that a sandbox or a container says: hosts, paths, authorities, proofs, labels, registrations. Read once,
// they lead back to themselves, or are refused in an error of ours; nothing else ever comes out.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../src/path/refusal.ts';
import { canonicalHost, parseAuthority } from '../../../src/stages/accept/canonical-host.ts';
import { canonicalTarget } from '../../../src/stages/accept/canonical-path.ts';
import { registrationFromLabels } from '../../../src/stages/identify/docker/labelled-containers.ts';
import { readProxyAuthorization } from '../../../src/stages/identify/identify-caller.ts';
import { readRegistration } from '../../../src/stages/identify/registry/registration.ts';
import { RegistrationError } from '../../../src/stages/identify/registry/registration-error.ts';
import { mutatedText } from '../../support/fuzz-mutations.ts';
import { fuzz, fuzzTimeoutMs, reportFuzz } from '../../support/fuzz-run.ts';

reportFuzz('names, proofs and registrations');

/** What it gives, or null when it was refused as refusals are. */
function unlessRefused<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal || error instanceof RegistrationError) return null;
    throw error;
  }
}

/** Of so many damaged names, some are still names: a reader that refuses all of them would pass every test here. */
class Accepted {
  #count = 0;

  /** Counts what was not refused, and hands it on. */
  readonly read = <T>(read: () => T): T | null => {
    const value = unlessRefused(read);
    if (value !== null) this.#count++;
    return value;
  };

  expectAtLeast(least: number): void {
    expect(this.#count).toBeGreaterThanOrEqual(least);
  }
}

/** Header bytes arrive as Latin-1. */
const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
const hosts = [
  'api.example',
  'API.Example.',
  'xn--bcher-kva.example',
  latin1('bücher.example'),
  latin1('api。example'),
  'a_b.example',
];
const strangeHosts = [
  '127.1',
  '0x7f.1',
  '[::1]',
  'a..b',
  'a%2eb',
  'user@host',
  'host/path',
  'a b',
  '-a-.example',
  'xn--a.example',
  '1e3',
  '٣',
];
const someHost = fc.oneof(
  mutatedText([...hosts, ...strangeHosts]).map(latin1),
  fc.string({ maxLength: 40 }).map(latin1),
  fc
    .array(fc.constantFrom(...'ab1.-_%@:/\\[]xn', '\u3002', '\u00ad', '\u200d', 'ß'), { maxLength: 12 })
    .map((parts) => latin1(parts.join(''))),
);

describe('a host has one spelling', () => {
  test('it leads back to itself, and a URL with it goes to no other host', { timeout: fuzzTimeoutMs }, () => {
    const accepted = new Accepted();
    fuzz(someHost, 3_000, (text) => {
      const host = accepted.read(() => canonicalHost(text));
      if (host === null) return;
      expect(canonicalHost(host)).toBe(host);
      expect(new URL(`https://${host}/`).hostname).toBe(host);
      // Whatever a URL reader makes of the bytes as they came is the same host, or no host to it at all.
      const read = URL.canParse(`https://${Buffer.from(text, 'latin1').toString('utf8')}/`);
      if (read) expect(new URL(`https://${Buffer.from(text, 'latin1').toString('utf8')}/`).hostname).toBe(host);
    });
    accepted.expectAtLeast(300);
  });

  test('an authority is that host and a port, or nothing', { timeout: fuzzTimeoutMs }, () => {
    const ports = fc.oneof(
      fc.constantFrom('', ':', ':443', ':0', ':65536', ':0443', ':+1', ':1e1', ': 80'),
      fc.nat(70_000).map((n) => `:${n}`),
    );
    const accepted = new Accepted();
    fuzz(fc.tuple(someHost, ports), 1_500, ([host, port]) => {
      const authority = accepted.read(() => parseAuthority(`${host}${port}`));
      if (authority === null) return;
      expect(parseAuthority(`${authority.host}:${authority.port ?? 443}`)).toEqual({
        host: authority.host,
        port: authority.port ?? 443,
      });
      expect(authority.port === null || (authority.port > 0 && authority.port < 65_536)).toBe(true);
    });
    accepted.expectAtLeast(100);
  });
});

describe('a path has one reading', () => {
  const targets = [
    '/',
    '/v1/messages',
    '/repos/o/r/pulls/1/merge?x=%2f',
    '/a%20b/c',
    '/a/./b',
    '/a/%2e%2e/b',
    '/%252e/',
    '/a;x=1/..;/b',
    '//a',
    '/\\a',
    '/é',
  ];
  test('what is judged is what a URL reader decodes, and it is sent as it came', { timeout: fuzzTimeoutMs }, () => {
    const accepted = new Accepted();
    fuzz(
      fc.oneof(
        mutatedText(targets).map(latin1),
        fc.string({ maxLength: 30 }).map((text) => `/${latin1(text)}`),
      ),
      3_000,
      (target) => {
        const read = accepted.read(() => canonicalTarget(target));
        if (read === null) return;
        expect(`${read.rawPath}${read.query === null ? '' : `?${read.query}`}`).toBe(target);
        expect(decodeURIComponent(new URL(`https://h.example${target}`).pathname)).toBe(read.path);
        expect(read.path).not.toMatch(/\/\.{1,2}(?:[/;]|$)|\/\/|\\|\p{Cc}/u);
      },
    );
    accepted.expectAtLeast(300);
  });
});

describe('what a caller shows as its proof', () => {
  test('is read as it was written, or not at all', { timeout: fuzzTimeoutMs }, () => {
    const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;
    const shown = [
      basic('sbx_1:secret'),
      basic('sandbox:secret'),
      basic(':secret'),
      'Bearer abc.def',
      'basic Og==',
      'Basic',
      'Digest x',
    ];
    const accepted = new Accepted();
    fuzz(mutatedText(shown), 2_000, (value) => {
      const read = accepted.read(() => readProxyAuthorization(value));
      expect(
        read === null || (typeof read.secret === 'string' && read.claimedId !== '' && read.claimedId !== 'sandbox'),
      ).toBe(true);
    });
    accepted.expectAtLeast(50);
    fuzz(fc.tuple(fc.stringMatching(/^[a-z][a-z0-9_]{0,20}$/), fc.string({ maxLength: 60 })), 1_000, ([id, secret]) => {
      const read = readProxyAuthorization(basic(`${id}:${secret}`));
      expect(read).toEqual({ claimedId: id === 'sandbox' ? null : id, secret: Buffer.from(secret).toString('utf8') });
    });
  });
});

describe('a registration', () => {
  const context = { knownCredentials: new Map([['github', 1]]), nowMs: Date.parse('2026-11-16T00:00:00Z') };
  const good = [
    {
      container_ip: '172.18.0.5',
      repos: ['owner/repo1', 'owner/*'],
      auth_mode: 'bot',
      allowed_branches: ['sandbox/*'],
    },
    {
      id: 'one',
      container_id: 'abc123',
      network: 'net',
      credentials: ['github'],
      proof: ['ip', 'secret'],
      expires_at: '2027-01-15T00:00:00Z',
    },
    { namespace: { pid: 77 }, proof: ['socket'] },
  ].map((one) => JSON.stringify(one));
  const known =
    /^(id|container_ip|container_id|network|repos|auth_mode|allowed_branches|credentials|proof|expires_at|namespace)$/;

  test('is read whole or refused in words, and never has a key that is not known', { timeout: fuzzTimeoutMs }, () => {
    const texts = mutatedText(good).map((text): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    });
    const accepted = new Accepted();
    fuzz(fc.oneof({ weight: 5, arbitrary: texts }, { weight: 1, arbitrary: fc.jsonValue() }), 2_000, (input) => {
      const read = accepted.read(() => readRegistration(input, context));
      if (read === null) return;
      expect(Object.keys(input as object).filter((key) => !known.test(key))).toEqual([]);
      expect(read.proof.length).toBeGreaterThan(0);
      expect(read.id === null || /^[a-z0-9][a-z0-9_.-]{0,62}$/.test(read.id)).toBe(true);
      expect(read.credentials === null || read.credentials.every((name) => name === 'github')).toBe(true);
      expect(read.repos.every((repo) => /^[^/]+\/[^/]+$/.test(repo))).toBe(true);
    });
    accepted.expectAtLeast(20);
  });

  test('from labels holds what the labels say, and no other key', { timeout: fuzzTimeoutMs }, () => {
    const key = fc.oneof(
      fc.constantFrom(
        'id',
        'repos',
        'auth_mode',
        'allowed_branches',
        'credentials',
        'proof',
        '__proto__',
        'container_ip',
      ),
      fc.string({ maxLength: 8 }),
    );
    const labels = fc.dictionary(
      key.map((name) => `sallyport.${name}`),
      fc.string({ maxLength: 30 }),
      { maxKeys: 3, noNullPrototype: true },
    );
    let accepted = 0;
    fuzz(fc.tuple(labels, fc.string({ maxLength: 80 })), 2_000, ([given, name]) => {
      let registration: Record<string, unknown>;
      try {
        registration = registrationFromLabels({ id: 'abc', name, labels: given });
      } catch (error) {
        expect((error as Error).name).toBe('LabelError');
        return;
      }
      accepted++;
      expect(
        Object.keys(registration).filter(
          (one) => !/^(id|container_id|repos|auth_mode|allowed_branches|credentials)$/.test(one),
        ),
      ).toEqual([]);
      expect(registration.container_id).toBe('abc');
    });
    expect(accepted).toBeGreaterThan(50);
  });
});
