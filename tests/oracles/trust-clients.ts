// The real clients that a sandbox may have, and how each is asked for one page over TLS. What they need of the server is
// answered here too. Nothing is installed: a client that is not on the machine is left out, and the test says so.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface TrustClient {
  readonly name: string;
  /** A shell command that succeeds only when the client works here at all. */
  readonly there: string;
  /** What it prints when it got its answer contains this; `pong` by default. */
  readonly prints?: string;
  /** Carries roots of its own: without a variable it believes nothing else. */
  readonly ownRoots?: boolean;
  command(at: { readonly origin: string; readonly hostPort: string; readonly work: string }): readonly string[];
}

const python = '/usr/bin/python3';
export const trustClients: readonly TrustClient[] = [
  { name: 'curl', there: 'curl --version', command: ({ origin }) => ['curl', '-sS', `${origin}/ping`] },
  { name: 'wget', there: 'wget --version', command: ({ origin }) => ['wget', '-nv', '-O-', '-t1', `${origin}/ping`] },
  {
    name: 'git',
    there: 'git --version',
    prints: 'refs/heads/main',
    command: ({ origin }) => ['git', 'ls-remote', `${origin}/o/r.git`],
  },
  {
    name: 'gh',
    there: 'gh --version',
    command: ({ origin }) => ['env', 'GH_TOKEN=placeholder', 'gh', 'api', `${origin}/ping`],
  },
  {
    name: 'openssl s_client',
    there: 'openssl version',
    command: ({ hostPort }) => [
      'sh',
      '-c',
      `printf 'GET /ping HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -connect ${hostPort}`,
    ],
  },
  {
    name: 'Python urllib',
    there: `${python} -c 'import ssl'`,
    command: ({ origin }) => [
      python,
      '-c',
      `import urllib.request; print(urllib.request.urlopen('${origin}/ping').read().decode())`,
    ],
  },
  {
    name: 'Python requests from PyPI',
    there: 'python3 -c \'import requests, certifi; assert not certifi.where().startswith("/etc")\'',
    ownRoots: true,
    command: ({ origin }) => ['python3', '-c', `import requests; print(requests.get('${origin}/ping').text)`],
  },
  // Debian's read the system's bundle.
  ...['requests', 'httpx'].map(
    (module): TrustClient => ({
      name: `Debian's Python ${module}`,
      there: `${python} -c 'import ${module}, certifi; assert certifi.where().startswith("/etc")'`,
      command: ({ origin }) => [python, '-c', `import ${module}; print(${module}.get('${origin}/ping').text)`],
    }),
  ),
  {
    name: 'pip',
    there: 'pip --version',
    prints: '1.2.3',
    ownRoots: true,
    command: ({ origin }) => [
      'env',
      // The machine's own settings may name a bundle.
      'PIP_CONFIG_FILE=/dev/null',
      'pip',
      '--disable-pip-version-check',
      '--retries',
      '0',
      'index',
      'versions',
      'pretend',
      '--index-url',
      `${origin}/simple/`,
    ],
  },
  {
    name: 'aws',
    there: 'aws --version',
    prints: '000000000000',
    ownRoots: true,
    command: ({ origin }) => [
      'env',
      'AWS_MAX_ATTEMPTS=1',
      'AWS_EC2_METADATA_DISABLED=true',
      'aws',
      '--no-sign-request',
      '--region',
      'x',
      '--endpoint-url',
      origin,
      'sts',
      'get-caller-identity',
    ],
  },
  {
    name: 'Node fetch',
    there: 'node --version',
    ownRoots: true,
    command: ({ origin }) => [
      'node',
      '-e',
      `fetch('${origin}/ping').then((r) => r.text()).then(console.log, (e) => { console.error(e); process.exit(1); })`,
    ],
  },
  {
    name: 'npm',
    there: 'npm --version',
    prints: '1.2.3',
    ownRoots: true,
    command: ({ origin }) => [
      'npm',
      'view',
      'pretend',
      'version',
      '--fetch-retries=0',
      '--globalconfig=/dev/null',
      `--registry=${origin}/npm/`,
    ],
  },
  {
    name: 'cargo',
    there: 'cargo --version',
    prints: 'pretend = "1.2.3"',
    command: ({ origin }) => [
      'env',
      'CARGO_NET_RETRY=0',
      'cargo',
      'search',
      '--index',
      `sparse+${origin}/cargo/`,
      'pretend',
    ],
  },
  {
    name: 'Go',
    there: 'go version',
    command: ({ hostPort, work }) => [join(work, 'go-client'), hostPort],
  },
  {
    name: 'Ruby net/http',
    there: "ruby -ropenssl -rnet/http -e ''",
    command: ({ origin }) => ['ruby', '-rnet/http', '-e', `puts Net::HTTP.get(URI('${origin}/ping'))`],
  },
  {
    name: 'PHP',
    there: 'php -r \'exit(extension_loaded("openssl") ? 0 : 1);\'',
    command: ({ origin }) => [
      'php',
      '-r',
      `$t = file_get_contents('${origin}/ping'); if ($t === false) exit(1); echo $t;`,
    ],
  },
  {
    name: 'PHP curl',
    there: 'php -r \'exit(extension_loaded("curl") ? 0 : 1);\'',
    command: ({ origin }) => [
      'php',
      '-r',
      `$c = curl_init('${origin}/ping'); if (!curl_exec($c)) { echo curl_error($c); exit(1); }`,
    ],
  },
  {
    name: 'Perl HTTP::Tiny',
    there: "perl -MIO::Socket::SSL -MHTTP::Tiny -e ''",
    command: ({ origin }) => [
      'perl',
      '-MHTTP::Tiny',
      '-e',
      `my $r = HTTP::Tiny->new(verify_SSL => 1)->get('${origin}/ping'); print $r->{content}; exit !$r->{success}`,
    ],
  },
  {
    name: 'Perl LWP',
    there: "perl -MLWP::UserAgent -MLWP::Protocol::https -e ''",
    ownRoots: true,
    command: ({ origin }) => [
      'perl',
      '-MLWP::UserAgent',
      '-e',
      `my $r = LWP::UserAgent->new->get('${origin}/ping'); print $r->decoded_content; exit !$r->is_success`,
    ],
  },
  {
    name: 'Java',
    there: 'java -version && javac -version',
    command: ({ origin, work }) => [
      'java',
      '-Xshare:auto',
      '-XX:TieredStopAtLevel=1',
      '-cp',
      work,
      'Ping',
      `${origin}/ping`,
    ],
  },
  {
    name: 'deno',
    there: 'deno --version',
    ownRoots: true,
    command: ({ origin }) => ['deno', 'eval', `console.log(await (await fetch('${origin}/ping')).text())`],
  },
  {
    name: 'uv',
    there: 'uv --version',
    prints: 'pretend',
    ownRoots: true,
    command: ({ origin }) => ['uv', 'pip', 'compile', '--index-url', `${origin}/simple/`, '-'],
  },
];

/** The programs that have to be compiled first. */
export async function compileClients(work: string, has: (name: string) => boolean): Promise<void> {
  mkdirSync(work, { recursive: true });
  const run = (command: string, ...args: string[]) => execute(command, args, { cwd: work, timeout: 150_000 });
  if (has('Go')) {
    writeFileSync(join(work, 'client.go'), goClient);
    await run('go', 'build', '-o', 'go-client', 'client.go');
  }
  if (has('Java')) {
    writeFileSync(join(work, 'Ping.java'), javaClient);
    await run('javac', 'Ping.java');
  }
}

/** What the clients ask for, besides /ping. */
export function answer(path: string, response: ServerResponse): void {
  const origin = `https://${response.req.headers.host}`;
  const json = (value: unknown): unknown =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  const routes: Record<string, () => unknown> = {
    '/o/r.git/info/refs': () => response.end(`${'a'.repeat(40)}\trefs/heads/main\n`),
    '/simple/pretend/': () =>
      response
        .setHeader('content-type', 'text/html')
        .end('<a href="/f/pretend-1.2.3-py3-none-any.whl">pretend-1.2.3-py3-none-any.whl</a>'),
    '/npm/pretend': () =>
      json({
        name: 'pretend',
        'dist-tags': { latest: '1.2.3' },
        versions: { '1.2.3': { name: 'pretend', version: '1.2.3' } },
      }),
    '/cargo/config.json': () => json({ dl: `${origin}/dl`, api: `${origin}` }),
    '/api/v1/crates': () =>
      json({ crates: [{ name: 'pretend', max_version: '1.2.3', description: null }], meta: { total: 1 } }),
    '/ping': () => response.end('pong'),
    '/': () =>
      response
        .setHeader('content-type', 'text/xml')
        .end(
          '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Account>000000000000</Account></GetCallerIdentityResult></GetCallerIdentityResponse>',
        ),
  };
  const route = routes[path];
  if (route === undefined) response.writeHead(404).end();
  else route();
}

const goClient = `package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
)

func main() {
	connection, err := tls.Dial("tcp", os.Args[1], nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Fprintf(connection, "GET /ping HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
	answer, _ := io.ReadAll(connection)
	fmt.Println(string(answer))
}
`;

const javaClient = `public class Ping {
  public static void main(String[] args) throws Exception {
    System.out.println(new String(new java.net.URL(args[0]).openStream().readAllBytes()));
  }
}
`;
