// The variables by which unmodified clients find the door and trust its CA, as a sandbox would have them.

export function clientEnvironment(gateway: {
  readonly proxyUrl: string;
  readonly caPath: string;
}): Record<string, string> {
  const { proxyUrl, caPath } = gateway;
  return {
    HTTPS_PROXY: proxyUrl,
    https_proxy: proxyUrl,
    HTTP_PROXY: proxyUrl,
    http_proxy: proxyUrl,
    SSL_CERT_FILE: caPath,
    REQUESTS_CA_BUNDLE: caPath,
    CURL_CA_BUNDLE: caPath,
    NODE_EXTRA_CA_CERTS: caPath,
    GIT_SSL_CAINFO: caPath,
  };
}
