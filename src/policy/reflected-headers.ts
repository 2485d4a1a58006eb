// Fields that upstreams commonly send back: in an error page, a log line that is shown, a CORS answer, a redirect. A
// credential in one of them would come back to the sandbox by design of the upstream, so none may be put there. Scrubbing
// would still take it out; this keeps it from being needed.

/** Families, by how their names begin. */
const families = ['accept-', 'access-control-', 'content-', 'if-', 'sec-fetch-', 'sec-ch-', 'sec-websocket-'] as const;

/** Lower case. */
export const reflectedHeaders: ReadonlySet<string> = new Set([
  // Who asks, for what, from where: on every error page.
  'host',
  'user-agent',
  'referer',
  'origin',
  'from',
  'accept',
  // Ids that are there to be given back.
  'x-request-id',
  'request-id',
  'x-correlation-id',
  'correlation-id',
  'x-amzn-trace-id',
  'x-cloud-trace-context',
  'x-b3-traceid',
  'x-b3-spanid',
  'b3',
  'traceparent',
  'tracestate',
  'baggage',
  'idempotency-key',
  'x-client-request-id',
  // The way it took: TRACE-like pages and proxies show it.
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-uri',
  'x-original-url',
  'x-rewrite-url',
  'x-real-ip',
  'true-client-ip',
  'max-forwards',
  // What the answer is made by: given back as Content-Range, Vary, Allow, Preference-Applied and the like.
  'range',
  'prefer',
  'cache-control',
  'pragma',
  'expect',
  'date',
  'dnt',
  'priority',
  'x-requested-with',
  'x-http-method-override',
  // Of the connection: never passed on as it came.
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'upgrade-insecure-requests',
]);

/** Would an upstream commonly send back what stands in this field? Names that differ only in `_` are the same to many. */
export function isReflected(name: string): boolean {
  const key = name.toLowerCase().replaceAll('_', '-');
  return reflectedHeaders.has(key) || families.some((family) => key.startsWith(family));
}
