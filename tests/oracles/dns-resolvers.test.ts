// The DNS door against resolvers that others wrote: c-ares (Node), Go's, Ruby's and Java's own. Each must find what is
// there, believe at once that nothing else is, and say so in its own words.
import { Resolver } from 'node:dns/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syntheticAddresses } from '../../src/kit/synthetic-address.ts';
import { buildGo, goTestTimeoutMs } from '../support/build-go.ts';
import { type DnsGround, openDnsGround } from '../support/dns-ground.ts';
import { runClient } from '../support/run-client.ts';

const { v4, v6 } = syntheticAddresses('api.example.com');
const longName = `${['a', 'b', 'c'].map((letter) => letter.repeat(63)).join('.')}.${'d'.repeat(49)}.example.com`;
/** What a resolver that retries or waits for somebody else would take. */
const atOnceMs = 4500;

let ground: DnsGround;
let folder: string;

beforeAll(async () => {
  ground = await openDnsGround((name) => name === 'api.example.com' || name === longName);
  folder = mkdtempSync(join(tmpdir(), 'sallyport-dns-oracle-'));
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await ground.close();
});

/** Runs a program of one of these languages, which prints one line for each of its questions. */
async function lines(command: readonly string[]): Promise<string[]> {
  const run = await runClient(command[0]!, command.slice(1), { env: { HOME: folder, PATH: process.env.PATH ?? '' } });
  expect(run.stderr).toBe('');
  return run.stdout.trim().split('\n');
}

describe('c-ares', () => {
  const resolver = new Resolver({ timeout: 5000, tries: 1 });
  const codeOf = (question: Promise<unknown>): Promise<unknown> =>
    question.catch((error: NodeJS.ErrnoException) => error.code);

  test('finds both addresses, also of the longest name, and nothing else', async () => {
    resolver.setServers([`127.0.0.1:${ground.port}`]);
    expect(await resolver.resolve4('api.example.com', { ttl: true })).toEqual([{ address: v4, ttl: 60 }]);
    expect(await resolver.resolve6('API.example.com')).toEqual([v6]);
    expect(await resolver.resolve4(longName)).toEqual([syntheticAddresses(longName).v4]);
    const started = performance.now();
    expect(await codeOf(resolver.resolve4('evil.example'))).toBe('ENOTFOUND');
    expect(await codeOf(resolver.resolveMx('api.example.com'))).toBe('ENODATA');
    expect(await codeOf(resolver.resolveSrv('api.example.com'))).toBe('ENODATA');
    expect(await codeOf(resolver.resolveTxt('api.example.com'))).toBe('EREFUSED');
    expect(await codeOf(resolver.reverse(v4))).toBe('ENOTFOUND');
    expect(performance.now() - started).toBeLessThan(atOnceMs);
  });
});

describe('the resolver of Go', () => {
  test(
    'finds both addresses over UDP and TCP, and gives up on the rest at once',
    async () => {
      const source = join(folder, 'main.go');
      writeFileSync(
        source,
        `package main

import ("context"; "errors"; "fmt"; "net"; "os"; "sort"; "strings"; "time")

func main() {
	for _, network := range []string{"udp", "tcp"} {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, "127.0.0.1:"+os.Args[map[string]int{"udp": 1, "tcp": 2}[network]])
		}
		resolver := &net.Resolver{PreferGo: true, Dial: dial}
		found, err := resolver.LookupHost(context.Background(), "api.example.com")
		sort.Strings(found)
		fmt.Println(strings.Join(found, " "), err)
		started := time.Now()
		_, err = resolver.LookupHost(context.Background(), "evil.example.")
		var missing *net.DNSError
		fmt.Println(errors.As(err, &missing) && missing.IsNotFound, time.Since(started) < 4 * time.Second)
		_, err = resolver.LookupMX(context.Background(), "api.example.com.")
		fmt.Println(errors.As(err, &missing) && missing.IsNotFound)
		_, err = resolver.LookupTXT(context.Background(), "api.example.com.")
		fmt.Println(err != nil)
	}
}
`,
      );
      await buildGo(source, join(folder, 'ask'));
      const each = [`${[v4, v6].sort().join(' ')} <nil>`, 'true true', 'true', 'true'];
      expect(await lines([join(folder, 'ask'), String(ground.port), String(ground.tcpPort)])).toEqual([
        ...each,
        ...each,
      ]);
    },
    goTestTimeoutMs,
  );
});

describe('the resolver of Ruby', () => {
  test('reads every answer', async () => {
    const program = `
require 'resolv'
dns = Resolv::DNS.new(nameserver_port: [['127.0.0.1', ARGV[0].to_i]], search: [], ndots: 1)
dns.timeouts = 5
puts dns.getresources('api.example.com', Resolv::DNS::Resource::IN::A).map { |r| "#{r.address} #{r.ttl}" }.join(',')
puts dns.getresources('api.example.com', Resolv::DNS::Resource::IN::AAAA).map { |r| r.address.to_s.downcase }.join(',')
puts dns.getresources('api.example.com', Resolv::DNS::Resource::IN::MX).length
puts dns.getresources('evil.example', Resolv::DNS::Resource::IN::A).length
started = Time.now
begin
  dns.getaddress('evil.example')
rescue Resolv::ResolvError => error
  puts error.message, Time.now - started < 4
end
`;
    expect(await lines(['ruby', '-e', program, String(ground.port)])).toEqual([
      `${v4} 60`,
      v6,
      '0',
      '0',
      'DNS result has no information for evil.example',
      'true',
    ]);
  });
});

describe('the resolver of Java', () => {
  test('reads every answer', async () => {
    const source = join(folder, 'Ask.java');
    writeFileSync(
      source,
      `import java.util.Hashtable;
import javax.naming.*;
import javax.naming.directory.*;

public class Ask {
  public static void main(String[] arguments) throws Exception {
    Hashtable<String, String> settings = new Hashtable<>();
    settings.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.dns.DnsContextFactory");
    settings.put(Context.PROVIDER_URL, "dns://127.0.0.1:" + arguments[0]);
    DirContext dns = new InitialDirContext(settings);
    System.out.println(dns.getAttributes("api.example.com", new String[] {"A"}).get("A").get());
    System.out.println(dns.getAttributes("api.example.com", new String[] {"MX"}).size());
    for (String[] question : new String[][] {{"evil.example", "A"}, {"api.example.com", "TXT"}}) {
      try {
        System.out.println(dns.getAttributes(question[0], new String[] {question[1]}));
      } catch (NamingException refused) {
        System.out.println(refused.getClass().getSimpleName());
      }
    }
  }
}
`,
    );
    expect(await lines(['java', source, String(ground.port)])).toEqual([
      v4,
      '0',
      'NameNotFoundException',
      'OperationNotSupportedException',
    ]);
  });
});
