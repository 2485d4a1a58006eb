import type { Http2ServerResponse } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startStreamingUpstream } from '../support/fake-upstream.ts';
import { providerHosts, startProviderGateway } from '../support/provider-gateway.ts';
import { providers } from '../support/providers.ts';
import { startClient } from '../support/run-client.ts';
import { makeTestCa } from '../support/test-ca.ts';
import type { TestGateway } from '../support/test-gateway.ts';

interface OpenStream {
  readonly headers: Record<string, string | string[] | undefined>;
  readonly httpVersion: string;
  readonly response: Http2ServerResponse;
}

let gateway: TestGateway;
let closeUpstream: () => Promise<void>;
let arrived: (stream: OpenStream) => void = () => {};

beforeAll(async () => {
  const ca = makeTestCa();
  const upstream = await startStreamingUpstream(ca, providerHosts, (request, response) => {
    request.resume();
    request.on('end', () => {
      response.setHeader('content-type', 'text/event-stream');
      response.writeHead(200);
      arrived({ headers: request.headers, httpVersion: request.httpVersion, response });
    });
  });
  closeUpstream = upstream.close;
  gateway = await startProviderGateway(ca, upstream);
});

afterAll(async () => {
  await gateway.stop();
  await closeUpstream();
});

const cases = providers.flatMap((provider) => ['--http1.1', '--http2'].map((version) => ({ ...provider, version })));

describe('the events of a stream arrive one by one, as the provider sends them', () => {
  test.each(cases)('$preset over curl $version', async ({ host, streamPath, sent, seen, version }) => {
    const opened = new Promise<OpenStream>((resolve) => {
      arrived = resolve;
    });
    const curl = startClient('curl', [
      ...['-sSN', '-m', '15', version, '-x', gateway.proxyUrl, '--cacert', gateway.caPath],
      ...['-H', sent.join(': '), '-d', '{"stream":true}', `https://${host}${streamPath}`],
    ]);
    const stream = await opened;
    expect(stream.headers[seen[0]]).toBe(seen[1]);
    expect(stream.httpVersion).toBe(version === '--http2' ? '2.0' : '1.1');
    // The next event is sent only when the client has printed this one: one that is held or merged stops the test.
    for (let number = 1; number <= 5; number++) {
      const event = `event: delta\ndata: {"number":${number},"text":"${'x'.repeat(number * 10)}"}\n\n`;
      stream.response.write(event);
      expect(await curl.stdout.bytes(event.length)).toBe(event);
    }
    stream.response.end();
    expect(await curl.ended).toBe(0);
    expect(curl.stdout.received).toBe('');
  });
});
