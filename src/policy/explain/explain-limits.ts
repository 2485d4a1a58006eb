// How much a sandbox may ask for and spend, in sentences, and for the operator what the gateway itself does. 0 is no limit
// and is not told.
import type { CompiledPolicy } from '../compiled.ts';
import type { BudgetLimits, Budgets, DoorLimits, Limits, UseLimits } from '../compiled-limits.ts';

/** `ofAll`: also what holds for all sandboxes together, which is the operator's to know. */
export function explainLimits(limits: Limits, ofAll: boolean): string[] {
  const sentences = [`Of one sandbox: ${[...use(limits), ...door(limits)].join('; ')}.`];
  const credential = use(limits.credential);
  if (ofAll && credential.length > 0) sentences.push(`With one credential, whoever uses it: ${credential.join('; ')}.`);
  if (ofAll)
    sentences.push(`Of all sandboxes together: ${[...use(limits.gateway), ...door(limits.gateway)].join('; ')}.`);
  const sizes = [
    size('the head of a request', limits.headBytes),
    size('the body of a request', limits.requestBodyBytes),
    size('an answer', limits.responseBodyBytes),
    size('a push', limits.pushBytes),
  ].filter((text) => text !== null);
  sentences.push(`At most ${sizes.join('; ')}.`);
  const waits = [
    `${seconds(limits.connectTimeoutMs)} to connect`,
    `${seconds(limits.headersTimeoutMs)} for an answer to begin`,
    `${seconds(limits.idleTimeoutMs)} of silence`,
  ];
  if (limits.requestTimeoutMs > 0) waits.push(`${seconds(limits.requestTimeoutMs)} for a whole request`);
  sentences.push(`At most ${waits.join('; ')}.`);
  return sentences;
}

function use(limits: UseLimits): string[] {
  const burst = limits.burst === limits.requestsPerMinute ? '' : ` (${count(limits.burst)} at once)`;
  return [
    limits.requestsPerMinute > 0 ? `${count(limits.requestsPerMinute)} requests a minute${burst}` : '',
    limits.concurrentRequests > 0 ? `${count(limits.concurrentRequests)} open requests` : '',
    limits.uploadBytesPerMinute > 0 ? `${bytes(limits.uploadBytesPerMinute)} a minute to send` : '',
    limits.downloadBytesPerMinute > 0 ? `${bytes(limits.downloadBytesPerMinute)} a minute to receive` : '',
    limits.pushesPerMinute > 0 ? `${count(limits.pushesPerMinute)} pushes a minute` : '',
  ].filter((text) => text !== '');
}

function door(limits: DoorLimits): string[] {
  return [
    `${count(limits.connections)} connections`,
    limits.connectionsPerSecond > 0 ? `${count(limits.connectionsPerSecond)} new ones a second` : '',
    limits.dnsPerSecond > 0 ? `${count(limits.dnsPerSecond)} names looked up a second` : '',
  ].filter((text) => text !== '');
}

export function explainBudgets(budgets: Budgets, ofAll: boolean): string[] {
  const scopes: readonly (readonly [string, BudgetLimits])[] = [
    ['One sandbox', budgets.sandbox],
    ['One credential, whoever uses it,', budgets.credential],
    ['All sandboxes together', budgets.gateway],
  ];
  const told = ofAll ? scopes : scopes.slice(0, 1);
  const set = told.flatMap(([who, { tokens, microDollars }]) => {
    const parts = [
      tokens > 0 ? `${count(tokens)} tokens` : '',
      microDollars > 0 ? `${(microDollars / 1_000_000).toLocaleString('en-US')} US dollars` : '',
    ].filter((text) => text !== '');
    return parts.length === 0
      ? []
      : [`${who} may use ${parts.join(' and ')} of models in one ${budgets.period} (UTC).`];
  });
  return set.length === 0 ? [`What models cost is counted${ofAll ? '' : ' for this sandbox'} and not limited.`] : set;
}

/** For the operator: what no sandbox is told. */
export function explainGateway({ listen, upstream, store, audit, githubHosts, gitHosts }: CompiledPolicy): string[] {
  const doors = [
    ...listen.proxy.map(({ host, port }) => `proxy ${host}:${port}`),
    ...listen.mtls.map(({ host, port }) => `mTLS ${host}:${port}`),
    ...listen.gateway.map((address) => `transparent ${address}`),
  ];
  const sentences = [`Doors: ${doors.join(', ') || 'none but those of sandboxes that `sallyport run` starts'}.`];
  if (listen.dashboard !== null) sentences.push(`Dashboard: ${listen.dashboard.host}:${listen.dashboard.port}.`);
  const github = githubHosts.filter((host) => host !== 'github.com');
  if (github.length > 0) sentences.push(`GitHub Enterprise: ${github.join(', ')}.`);
  if (gitHosts.size > 0) sentences.push(`Other hosts whose git is judged: ${[...gitHosts].join(', ')}.`);
  for (const { host, address, port } of upstream.resolve) {
    sentences.push(`${host.text} is reached at ${address}${port === null ? '' : ` port ${port}`}.`);
  }
  if (upstream.proxy !== null) {
    const { host, port, byName, except } = upstream.proxy;
    const without = except.length === 0 ? '' : `, but for ${except.map(({ text }) => text).join(', ')}`;
    const judged = byName ? ' It resolves the names: nothing here judges where they lead.' : '';
    sentences.push(`The way out is the proxy ${host}:${port}${without}.${judged}`);
  }
  if (upstream.extraRoots.length > 0) {
    sentences.push(`Beside the system's roots, ${upstream.extraRoots.length} of the operator's are trusted.`);
  }
  if (store !== null) sentences.push(`What gateways share is kept in ${store.text}.`);
  const days = audit.keepMs / 86_400_000;
  const young = days === 0 ? '' : `, and none goes before ${count(days)} days, up to ${bytes(audit.maxBytes)} in all`;
  sentences.push(`The journal keeps ${count(audit.keepFiles)} files of ${bytes(audit.maxFileBytes)}${young}.`);
  if (audit.sandboxBytesPerDay > 0)
    sentences.push(`One sandbox may write ${bytes(audit.sandboxBytesPerDay)} into it in a day.`);
  return sentences;
}

function size(what: string, limit: number): string | null {
  return limit === 0 ? null : `${bytes(limit)} for ${what}`;
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

function bytes(number: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let left = number;
  while (left >= 1024 && left % 1024 === 0 && unit < units.length - 1) {
    left /= 1024;
    unit++;
  }
  return `${count(left)} ${units[unit]}`;
}

function seconds(ms: number): string {
  return ms % 1000 === 0 ? `${count(ms / 1000)} s` : `${count(ms)} ms`;
}
