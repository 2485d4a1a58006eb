// The runtimes that the doctor tries, each with one real request as its users make them: no option that turns verification
// off, no proxy, no CA named by hand. What each trusts the CA through is that of docs/clients.md.

/** The host that all of them ask, but git and gh. */
export const doctorHost = 'doctor.example';
export const doctorRepository = 'doctor/patient';
/** In every answer of the pretend host. */
export const answerWord = 'sallyport-doctor-1.2.3';
const version = '1.2.3';

export interface Runtime {
  readonly name: string;
  /** Looked for in the PATH of the sandbox. */
  readonly program: string;
  /** A shell command that must succeed, else it counts as absent; with what then is missing. */
  readonly needs?: { readonly test: string; readonly missing: string };
  /** For sh, in a folder of its own. `$URL` is what it is to ask for. */
  readonly script: string;
  /** What its output must hold; null: that the request arrived is enough. */
  readonly prints: string | null;
  /** The start of the host and path that it asks for, by which its request is known. */
  readonly asks: string;
  /** Through what it is made to believe the CA. */
  readonly trusts: string;
}

type Parts = Omit<Runtime, 'prints' | 'asks'> & Partial<Pick<Runtime, 'prints' | 'asks'>>;

export function slugOf(name: string): string {
  return name.replaceAll(/[^a-z0-9]+/g, '-');
}

function runtime(parts: Parts): Runtime {
  return { prints: answerWord, asks: `${doctorHost}/${slugOf(parts.name)}`, ...parts };
}

const python = (module: string, code: string): Runtime =>
  runtime({
    name: `python3 ${module}`,
    program: 'python3',
    needs: { test: `python3 -c 'import ssl, ${module}'`, missing: `the module ${module}` },
    script: `exec python3 -c '${code}'`,
    trusts: module === 'requests' ? 'REQUESTS_CA_BUNDLE' : 'SSL_CERT_FILE',
  });

const javaProgram = `class Doctor {
  public static void main(String[] words) throws Exception {
    var answer = new java.net.URL(System.getenv("URL")).openConnection().getInputStream();
    System.out.println(new String(answer.readAllBytes()));
  }
}`;

/** The slow ones first: they are shared out in this order. */
export const runtimes: readonly Runtime[] = [
  runtime({
    name: 'chromium',
    program: 'chromium',
    // Its own sandbox is another matter, and not to be had everywhere.
    script: `exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --dump-dom "$URL"`,
    trusts: 'the database in ~/.pki/nssdb, or policies in /etc',
  }),
  runtime({
    name: 'firefox',
    program: 'firefox',
    script: `mkdir profile && exec firefox --headless --profile "$PWD/profile" --screenshot "$PWD/shot.png" "$URL"`,
    // A picture says nothing; of a host whose certificate it does not believe it asks nothing.
    prints: null,
    trusts: 'Certificates.Install in policies.json',
  }),
  runtime({
    name: 'java',
    program: 'java',
    needs: { test: "java --list-modules | grep '^jdk.compiler'", missing: 'a JDK of 11 or later' },
    script: `cat > Doctor.java <<'END'\n${javaProgram}\nEND\nexec java -Xshare:auto -XX:TieredStopAtLevel=1 Doctor.java`,
    trusts: 'its own trust store, which is covered by ours (else JAVA_TOOL_OPTIONS)',
  }),
  runtime({
    name: 'npm',
    program: 'npm',
    script: `exec npm view sallyport-doctor version --fetch-retries=0 --registry="$URL/"`,
    prints: version,
    trusts: 'npm_config_cafile or NODE_EXTRA_CA_CERTS',
  }),
  runtime({
    name: 'cargo',
    program: 'cargo',
    script: `CARGO_NET_RETRY=0 exec cargo search --index "sparse+$URL/" sallyport-doctor`,
    prints: version,
    trusts: 'CARGO_HTTP_CAINFO or SSL_CERT_FILE',
  }),
  runtime({
    name: 'pip',
    program: 'pip',
    script: `exec pip --disable-pip-version-check --retries 0 index versions sallyport-doctor --index-url "$URL/"`,
    prints: version,
    trusts: 'PIP_CERT',
  }),
  // It is a Go program itself, and asks as every other does; nothing has to be compiled.
  runtime({
    name: 'go',
    program: 'go',
    script: `GO111MODULE=on GOFLAGS=-mod=mod GONOSUMDB=* GOPROXY="$URL" exec go list -m -versions doctor.example/m`,
    prints: version,
    trusts: 'SSL_CERT_FILE',
  }),
  python(
    'aiohttp',
    'import aiohttp, asyncio, os\nasync def ask():\n  async with aiohttp.ClientSession() as s:\n    async with s.get(os.environ["URL"]) as r: print(await r.text())\nasyncio.run(ask())',
  ),
  python('requests', 'import os, requests; print(requests.get(os.environ["URL"], timeout=20).text)'),
  python('httpx', 'import os, httpx; print(httpx.get(os.environ["URL"], timeout=20).text)'),
  runtime({
    name: 'python3 urllib',
    program: 'python3',
    needs: { test: "python3 -c 'import ssl'", missing: 'the module ssl' },
    script: `exec python3 -c 'import os, urllib.request; print(urllib.request.urlopen(os.environ["URL"], timeout=20).read().decode())'`,
    trusts: 'SSL_CERT_FILE',
  }),
  runtime({
    name: 'gh',
    program: 'gh',
    script: `GH_TOKEN="\${GH_TOKEN:-placeholder}" exec gh api repos/${doctorRepository}`,
    asks: `api.github.com/repos/${doctorRepository}`,
    trusts: 'SSL_CERT_FILE',
  }),
  runtime({
    name: 'uv',
    program: 'uv',
    script: `echo sallyport-doctor | uv pip compile --no-cache --index-url "$URL/" -`,
    // It goes on to fetch what the pretend index does not have.
    prints: null,
    trusts: 'SSL_CERT_FILE, or UV_NATIVE_TLS',
  }),
  runtime({
    name: 'deno',
    program: 'deno',
    script: `exec deno eval 'console.log(await (await fetch(Deno.env.get("URL"))).text())'`,
    trusts: 'DENO_CERT',
  }),
  runtime({
    name: 'node',
    program: 'node',
    script: `exec node -e 'fetch(process.env.URL).then((r) => r.text()).then(console.log, (e) => { console.error(e.cause ?? e); process.exit(1); })'`,
    trusts: 'NODE_EXTRA_CA_CERTS',
  }),
  runtime({
    name: 'ruby',
    program: 'ruby',
    needs: { test: "ruby -ropenssl -rnet/http -e ''", missing: 'its openssl library' },
    script: `exec ruby -rnet/http -e 'puts Net::HTTP.get(URI(ENV["URL"]))'`,
    trusts: 'SSL_CERT_FILE',
  }),
  runtime({
    name: 'php',
    program: 'php',
    needs: { test: `php -r 'exit(extension_loaded("openssl") ? 0 : 1);'`, missing: 'its openssl extension' },
    script: `exec php -r '$t = file_get_contents(getenv("URL")); if ($t === false) exit(1); echo $t;'`,
    trusts: "openssl.cafile, or the system's bundle",
  }),
  runtime({
    name: 'perl',
    program: 'perl',
    needs: { test: "perl -MIO::Socket::SSL -MHTTP::Tiny -e ''", missing: 'its module IO::Socket::SSL' },
    script: `exec perl -MHTTP::Tiny -e 'my $r = HTTP::Tiny->new(verify_SSL => 1)->get($ENV{URL}); print $r->{content}; exit !$r->{success}'`,
    trusts: 'SSL_CERT_FILE (LWP: PERL_LWP_SSL_CA_FILE)',
  }),
  runtime({
    name: 'git',
    program: 'git',
    script: `exec git ls-remote https://github.com/${doctorRepository}`,
    prints: 'refs/heads/main',
    asks: `github.com/${doctorRepository}`,
    trusts: 'GIT_SSL_CAINFO',
  }),
  runtime({
    name: 'wget',
    program: 'wget',
    script: `exec wget -nv -t 1 -O - "$URL"`,
    trusts: "--ca-certificate, or the system's bundle",
  }),
  runtime({
    name: 'openssl',
    program: 'openssl',
    script: `printf 'GET %s HTTP/1.1\\r\\nHost: ${doctorHost}\\r\\nConnection: close\\r\\n\\r\\n' "/openssl" | openssl s_client -quiet -verify_return_error -servername ${doctorHost} -connect ${doctorHost}:443`,
    trusts: "SSL_CERT_FILE, or the system's folder",
  }),
  runtime({
    name: 'curl',
    program: 'curl',
    script: `exec curl -sS -f "$URL"`,
    trusts: 'CURL_CA_BUNDLE or SSL_CERT_FILE',
  }),
];
