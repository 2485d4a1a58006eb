// Attacks by requests: one name for the check and another for the wire, framing read two ways, ways around the allowlist through
// the proxy, and floods.
import type { Attack, Control } from '../attack.ts';
import type { Ground } from '../ground.ts';
import { byName, httpRequest, plainProxy, throughProxy } from '../http-text.ts';
import {
  answered,
  arrived,
  held,
  hole,
  inWords,
  readAnswer,
  refusedInWords,
  unlessVisited,
  unproven,
} from '../judge.ts';
import type { Probe } from '../probe.ts';
import { foreignHost, inwardHost, plainHost, providerHost, tunnelHost } from '../redteam-hosts.ts';

const send = (text: string, way = byName(plainHost)): Probe => ({ do: 'send', way, text });

const plainPost = answered('the same request, well formed, is answered', () => [
  send(httpRequest(plainHost, '/upload', { method: 'POST', body: 'hello' })),
]);
const proxied = answered('an allowed host is reached the same way', () => [
  send(httpRequest(plainHost, '/'), throughProxy(plainHost)),
]);

function refusal(
  name: string,
  tried: string,
  control: Control,
  codes: RegExp,
  attempt: (ground: Ground) => readonly Probe[],
): Attack {
  const judge: Attack['judge'] = (facts) => unlessVisited(facts, () => refusedInWords(facts, codes));
  return { name, area: 'requests', tried, control, attempt, judge };
}

/** A body that one reader ends early and another reads as a second request. */
const hidden = `0\r\n\r\n${httpRequest(foreignHost, '/hidden')}`;

function post(fields: string, body: string): Probe {
  return send(`POST /upload HTTP/1.1\r\nHost: ${plainHost}\r\nConnection: close\r\n${fields}\r\n\r\n${body}`);
}

const http2 = (authority: string, more: Readonly<Record<string, string>> = {}): Probe => ({
  do: 'http2',
  way: byName(plainHost),
  headers: { ':method': 'GET', ':path': '/', ':scheme': 'https', ':authority': authority, ...more },
});

export const requestAttacks: readonly Attack[] = [
  refusal('host-not-allowed', 'a host that is not on the list', proxied, /^domain\.not-allowed$/, () => [
    send(httpRequest(foreignHost, '/'), throughProxy(foreignHost)),
    send(httpRequest(foreignHost, `http://${foreignHost}/`), plainProxy),
  ]),
  refusal('front-host', 'an allowed name in the hello, another in Host', plainPost, /^mismatch\.authority$/, () => [
    send(httpRequest(foreignHost, '/')),
    send(httpRequest(providerHost, '/')),
    send(httpRequest(plainHost, `https://${foreignHost}/`)),
  ]),
  refusal('front-two-hosts', 'two Host fields', plainPost, /^(?:malformed|mismatch)\./, () => [
    send(`GET / HTTP/1.1\r\nHost: ${plainHost}\r\nHost: ${foreignHost}\r\nConnection: close\r\n\r\n`),
  ]),
  refusal(
    'front-http2',
    'an allowed name in the hello, another in :authority or host of HTTP/2',
    answered('HTTP/2 to an allowed host is answered', () => [http2(plainHost)]),
    /^(?:mismatch|malformed)\./,
    () => [http2(foreignHost), http2(providerHost), http2(plainHost, { host: foreignHost })],
  ),
  refusal(
    'connect-other-hello',
    'CONNECT to an allowed host, another name in the hello',
    proxied,
    /^(?:mismatch|domain|malformed)\./,
    () => [
      send(httpRequest(foreignHost, '/'), {
        ...throughProxy(plainHost),
        tls: { name: foreignHost, verify: false },
      }),
    ],
  ),
  refusal('tunnel-other-hello', 'an undecrypted tunnel under another name', proxied, /^(?:tunnel|mismatch)\./, () => [
    send(httpRequest(foreignHost, '/'), { ...throughProxy(tunnelHost), tls: { name: foreignHost, verify: false } }),
  ]),
  refusal(
    'metadata-address',
    'the metadata service of a cloud by its address: CONNECT, absolute form, decimal and mapped spellings',
    proxied,
    /^(?:target\.literal-address|malformed\.host)$/,
    () => [
      {
        do: 'send',
        way: plainProxy,
        text: 'CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n',
        quietMs: 300,
      },
      send(httpRequest('169.254.169.254', 'http://169.254.169.254/latest/meta-data/'), plainProxy),
      send(httpRequest('2852039166', 'http://2852039166/latest/meta-data/'), plainProxy),
      send(httpRequest('[::ffff:a9fe:a9fe]', 'http://[::ffff:a9fe:a9fe]/latest/meta-data/'), plainProxy),
    ],
  ),
  refusal(
    'name-that-leads-inside',
    "an allowed name that leads to the host's own loopback (rebinding)",
    proxied,
    /^upstream\.address-refused$/,
    ({ inwardPort }) => [
      send(httpRequest(`${inwardHost}:${inwardPort}`, `http://${inwardHost}:${inwardPort}/`), plainProxy),
    ],
  ),
  refusal(
    'plain-http',
    'an allowed host without TLS where no rule allows it',
    proxied,
    /^(?:domain\.plain-http|target\.port)$/,
    () => [
      send(httpRequest(providerHost, '/'), { host: providerHost, port: 80 }),
      send(httpRequest(providerHost, `http://${providerHost}/`), plainProxy),
    ],
  ),
  refusal('other-port', 'an allowed host on another port', proxied, /^target\.port$/, () => [
    send(httpRequest(`${plainHost}:8443`, '/'), throughProxy(plainHost, 8443)),
  ]),
  refusal(
    'smuggle-both-lengths',
    'Content-Length and Transfer-Encoding together',
    plainPost,
    /^malformed\.framing$/,
    () => [post(`Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked`, hidden)],
  ),
  refusal('smuggle-two-lengths', 'two lengths that differ', plainPost, /^malformed\.framing$/, () => [
    post('Content-Length: 5\r\nContent-Length: 0', 'hello'),
  ]),
  refusal(
    'smuggle-odd-coding',
    'transfer codings that some servers read and others do not',
    plainPost,
    /^malformed\./,
    () => [
      post('Transfer-Encoding: xchunked', hidden),
      post('Transfer-Encoding : chunked', hidden),
      post('Transfer-Encoding: chunked, identity', hidden),
    ],
  ),
  refusal('smuggle-lines', 'bare line feeds, folded and broken fields', plainPost, /^malformed\./, () => [
    post(`X-A: b\nHost: ${foreignHost}`, ''),
    post(`X-A: b\r\n ${foreignHost}`, ''),
    post('X-A: b\r\nno colon here', ''),
  ]),
  refusal(
    'path-tricks',
    'dot segments and encoded slashes that leave a rule behind',
    proxied,
    /^malformed\.path$/,
    () => [
      send(httpRequest(plainHost, '/a/%2e%2e/%2e%2e/b')),
      send(httpRequest(plainHost, '/a/..%2fb')),
      send(httpRequest(plainHost, '/a%00b')),
    ],
  ),
  refusal(
    'header-flood',
    'a head of 300 KB, and ten thousand fields',
    plainPost,
    /^(?:limit\.head-size|malformed\.)/,
    () => [
      send(httpRequest(plainHost, '/', { headers: { 'X-Large': 'a'.repeat(300_000) } })),
      post(Array.from({ length: 10_000 }, (_, i) => `X-${i}: a`).join('\r\n'), ''),
    ],
  ),
  {
    name: 'upgrade-h2c',
    area: 'requests',
    tried: 'switching to another protocol (h2c) to speak unseen',
    control: plainPost,
    attempt: () => [
      send(
        httpRequest(plainHost, '/', {
          headers: {
            Connection: 'Upgrade, HTTP2-Settings, close',
            Upgrade: 'h2c',
            'HTTP2-Settings': 'AAMAAABkAAQAAP__',
          },
        }),
      ),
    ],
    judge(facts) {
      const answer = readAnswer(facts.observed[0]?.text ?? '');
      if (answer === null) return unproven(inWords(facts.observed[0]!));
      if (answer.status === 101) return hole('101: the protocol was switched');
      if (answer.refused !== null) return held(`${answer.status} ${answer.refused}`);
      const offered = facts.seen.find(
        ({ headers }) => headers.upgrade !== undefined || headers['http2-settings'] !== undefined,
      );
      if (offered !== undefined) return hole(`the offer ${arrived(facts)}`);
      return facts.seen.length > 0
        ? held('the offer was taken out before it was forwarded')
        : unproven(inWords(facts.observed[0]!));
    },
  },
];
