// Attacks on credentials: getting the gateway to send one where it does not belong, to send the sandbox's own, or to hand one
// back when an upstream echoes what it was sent.
import { placeholderFor } from '../../../kit/text/placeholder.ts';
import type { Attack, AttackFinding, Control, Facts } from '../attack.ts';
import { byName, httpRequest } from '../http-text.ts';
import { answered, arrived, held, hole, inWords, readAnswer, refusedInWords, unproven } from '../judge.ts';
import type { Probe } from '../probe.ts';
import { echoPaths, foreignHost, modelHost, plainHost, providerHost, redirectPath } from '../redteam-hosts.ts';

/** Of the kind that a sandbox is given in place of a key. */
const placeholder = 'sk-sallyport-placeholder-0000';
/** As `sallyport run` makes them: it says for which credential it stands. */
const marked = placeholderFor('provider', 'sk-');
const ownKey = 'sk-the-sandbox-brought-this-itself';

const send = (host: string, target: string, parts: Parameters<typeof httpRequest>[2] = {}): Probe => ({
  do: 'send',
  way: byName(host),
  text: httpRequest(host, target, parts),
});

const post = (host: string, target: string): Probe => send(host, target, { method: 'POST', body: '{}' });

const modelAnswers: Control = answered('the model answers', () => [post(modelHost, '/v1/messages')]);

const providerAnswers: Control = answered('the provider answers', () => [send(providerHost, '/v1/models')]);

/** The provider sent the real key back: was it taken out? That none is in the text, the runner has looked already. */
function echoAttack(name: string, tried: string, probe: Probe): Attack {
  return {
    name,
    area: 'credentials',
    tried,
    control: providerAnswers,
    attempt: () => [probe],
    judge({ observed: [observation], seen, ground }) {
      const secret = ground.baits.find((bait) => bait.name === 'credential provider')!.secret;
      const isInjected = seen.some(({ headers }) => headers['x-api-key'] === secret);
      const answer = readAnswer(observation?.text ?? '');
      if (answer?.refused != null) return held(`${answer.status} ${answer.refused}`);
      if (!isInjected) return unproven('the provider did not get the credential');
      if (answer === null) return unproven(inWords(observation!));
      if (holdsPart(observation!.text, secret)) return hole('a part of the credential came through');
      return held(`answered ${answer.status}, the credential taken out`);
    },
  };
}

/** Half of a key is no key, but it shows that the search missed it. */
function holdsPart(text: string, secret: string): boolean {
  const length = Math.floor(secret.length / 2);
  return Array.from({ length: secret.length - length + 1 }, (_, i) => secret.slice(i, i + length)).some((part) =>
    text.includes(part),
  );
}

function judgeWithoutCredential({ seen, ground, observed }: Facts): AttackFinding {
  const got = seen.find(({ headers }) => ground.baits.some(({ secret }) => JSON.stringify(headers).includes(secret)));
  if (got !== undefined) return hole(`the real credential was sent to ${got.url}`);
  return seen.length > 0
    ? held(`${seen.length} forwarded without it, ${observed.length - seen.length} refused`)
    : unproven(inWords(observed[0]!));
}

export const credentialAttacks: readonly Attack[] = [
  {
    name: 'credential-to-another-host',
    area: 'credentials',
    tried: 'the placeholder sent to another allowed host, to be exchanged there',
    control: providerAnswers,
    attempt: () => [
      send(plainHost, '/v1/models', { headers: { 'X-Api-Key': placeholder, Authorization: `Bearer ${placeholder}` } }),
    ],
    judge: ({ seen, ground, observed: [observation] }) => {
      const got = seen.find(({ headers }) =>
        ground.baits.some(({ secret }) => JSON.stringify(headers).includes(secret)),
      );
      if (got !== undefined) return hole(`the real credential was sent to ${got.host}`);
      return seen.length > 0 ? held('forwarded without a credential') : unproven(inWords(observation!));
    },
  },
  {
    name: 'placeholder-leaves',
    area: 'credentials',
    tried: 'the placeholder of the provider sent to another allowed host: in a field, the query, a body, in base64',
    control: answered('the other host answers', () => [send(plainHost, '/v1/models')]),
    attempt: () => [
      send(plainHost, '/', { headers: { 'X-Note': marked } }),
      send(plainHost, `/?note=${marked}`),
      send(plainHost, '/', { method: 'POST', body: `{"note":"${marked}"}` }),
      send(plainHost, '/', { method: 'POST', body: Buffer.from(`note: ${marked}`).toString('base64') }),
    ],
    judge: (facts) => refusedInWords(facts, /^secret\.placeholder-misplaced$/),
  },
  {
    name: 'credential-to-another-path',
    area: 'credentials',
    tried: 'the credential on a path of the provider where it does not belong',
    control: providerAnswers,
    attempt: () => [
      send(providerHost, '/telemetry'),
      send(providerHost, '/V1/models'),
      send(providerHost, '/v1/../telemetry'),
    ],
    judge: judgeWithoutCredential,
  },
  {
    name: 'credential-mints-another',
    area: 'credentials',
    tried: 'the credential of a model used to make a key or to start an agent elsewhere, in several spellings',
    control: modelAnswers,
    attempt: () => [
      post(modelHost, '/v1/organizations/api_keys'),
      post(modelHost, '/v1/Organizations/api_keys/'),
      post(modelHost, '/v1/%6frganizations/api_keys'),
      post(modelHost, '/v1/vaults;x'),
      post(modelHost, '/v1/sessions'),
      send(modelHost, '/v1/sessions/s/events'),
    ],
    judge: (facts) => refusedInWords(facts, /^provider\.effect$/),
  },
  {
    name: 'credential-beyond-inference',
    area: 'credentials',
    tried: 'the credential of a model on paths of its API that are not on the list of its preset',
    control: modelAnswers,
    attempt: () => [
      post(modelHost, '/v1/skills'),
      post(modelHost, '/v1/anything/new'),
      post(modelHost, '/v1/Messages'),
    ],
    judge: judgeWithoutCredential,
  },
  {
    name: 'credential-of-its-own',
    area: 'credentials',
    tried: "a key of the attacker's own in place of the operator's, in three spellings",
    control: providerAnswers,
    attempt: () => [
      send(providerHost, '/v1/models', { headers: { 'X-Api-Key': ownKey } }),
      send(providerHost, '/v1/models', { headers: { 'x-API-key': ownKey, 'X-Api-Key': ownKey } }),
      send(providerHost, '/v1/models', { headers: { Connection: 'close, x-api-key', 'X-Api-Key': ownKey } }),
    ],
    judge(facts) {
      const secret = facts.ground.baits.find((bait) => bait.name === 'credential provider')!.secret;
      const own = facts.seen.find(({ headers }) => headers['x-api-key'] !== secret);
      if (own !== undefined) return hole(`the provider got ${String(own.headers['x-api-key'] ?? 'no key')}`);
      const refused = facts.observed.filter(({ text }) => readAnswer(text)?.refused != null).length;
      if (facts.seen.length + refused < facts.observed.length) return unproven(inWords(facts.observed[0]!));
      return held(`${facts.seen.length} arrived with the operator's credential alone, ${refused} refused`);
    },
  },
  {
    name: 'credential-by-trace',
    area: 'credentials',
    tried: 'TRACE and method overrides, which send the request back',
    control: providerAnswers,
    attempt: () => [
      send(providerHost, '/v1/models', { method: 'TRACE' }),
      send(providerHost, '/v1/models', { method: 'POST', headers: { 'X-HTTP-Method-Override': 'TRACE' }, body: '' }),
    ],
    judge: (facts) => refusedInWords(facts, /^method\.not-allowed$/),
  },
  {
    name: 'credential-by-redirect',
    area: 'credentials',
    tried: 'following a redirect of the provider with the credential to a host of the attacker',
    control: providerAnswers,
    attempt: () => [send(providerHost, redirectPath)],
    judge: (facts) => {
      const followed = facts.seen.find(({ host }) => host === foreignHost);
      if (followed !== undefined) return hole(arrived(facts));
      const answer = readAnswer(facts.observed[0]?.text ?? '');
      if (answer?.status === 302) return held('the redirect was handed on, not followed');
      return answer?.refused == null
        ? unproven(inWords(facts.observed[0]!))
        : held(`${answer.status} ${answer.refused}`);
    },
  },
  echoAttack('echo-header', 'an answer that has the credential in a field', send(providerHost, echoPaths.header)),
  echoAttack(
    'echo-location',
    'a redirect that has the credential in its address',
    send(providerHost, echoPaths.location),
  ),
  echoAttack('echo-body', 'an answer that has the credential in its body', send(providerHost, echoPaths.body)),
  echoAttack('echo-error', 'an error page that quotes the credential', send(providerHost, echoPaths.error)),
  echoAttack(
    'echo-slow',
    'a body that has the credential in small pieces, with pauses',
    send(providerHost, echoPaths.slow),
  ),
  echoAttack('echo-split', 'a body that has the credential across two chunks', send(providerHost, echoPaths.split)),
  {
    ...echoAttack('echo-gzip', 'a compressed body that has the credential', {
      do: 'run',
      argv: ['curl', '-sS', '-i', '--http1.1', '--compressed', `https://${providerHost}${echoPaths.gzip}`],
    }),
    needs: ['curl'],
  },
  echoAttack('echo-websocket', 'a WebSocket message that has the credential', {
    do: 'send',
    way: byName(providerHost),
    text: httpRequest(providerHost, echoPaths.socket, {
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
    }),
    quietMs: 400,
  }),
];
