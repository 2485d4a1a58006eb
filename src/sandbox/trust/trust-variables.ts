// The variables that name a bundle of certificates, each for the family of clients that reads it: one list for the whole
// product. They hold a path, never a secret. A client that carries its own roots (Node, certifi, Rust's webpki) believes
// nothing else; for the rest the bundle bound over the system's paths is enough, and these agree with it.

/** What these name takes the place of the client's own roots: the system's and ours. */
const bundleVariables: readonly string[] = [
  // OpenSSL itself, and with it Python's ssl, Ruby, PHP, .NET; Go; Rust's native roots; git-lfs, gh, uv, codex.
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'npm_config_cafile',
  'YARN_HTTPS_CA_FILE_PATH',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'HTTPLIB2_CA_CERTS',
  'WEBSOCKET_CLIENT_CA_BUNDLE',
  // gRPC's C core (Python, Ruby, PHP, C++) has roots compiled in.
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'AWS_CA_BUNDLE',
  'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE',
  'CODEX_CA_CERTIFICATE',
  'CARGO_HTTP_CAINFO',
  'BUNDLE_SSL_CA_CERT',
  'COMPOSER_CAFILE',
  'PERL_LWP_SSL_CA_FILE',
  'HEX_CACERTS_PATH',
  'NIX_SSL_CERT_FILE',
];

/** What these name comes on top of the client's own roots: ours alone. Node 20 reads the file at every start, TLS or not,
 *  and a whole bundle costs each of its processes some 30 ms. claude, gemini, opencode and Bun read the first one too. */
const extraVariables: readonly string[] = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT'];

export interface TrustPaths {
  /** The system's roots and ours. */
  readonly bundle: string;
  /** Ours alone. */
  readonly certificate: string;
}

export function trustVariables({ bundle, certificate }: TrustPaths): Record<string, string> {
  const named = (names: readonly string[], path: string): [string, string][] => names.map((name) => [name, path]);
  return Object.fromEntries([...named(bundleVariables, bundle), ...named(extraVariables, certificate)]);
}
