// Judges how a runtime did, from three sides: what it printed in the sandbox, what arrived at the pretend host, and what the
// journal of the gateway has. Pure. When it failed: was it the name, the trust, a refusal, or the runtime itself?
import { type DoctorFinding, findingsOf } from './finding.ts';
import { type InsideLine, timedOut } from './inside-script.ts';
import { answerWord, type Runtime } from './runtimes.ts';

export interface RuntimeFacts {
  /** Null: the sandbox said nothing of it. */
  readonly line: InsideLine | null;
  /** Its request arrived. */
  readonly arrived: boolean;
  /** Why the gateway refused it; null: it did not. */
  readonly refused: string | null;
}

/** Where the findings from inside stand. */
export const insideArea = 'Inside a sandbox';
const { ok, warn, fail, absent } = findingsOf(insideArea);

const trustWords =
  /certificate|CERT_|self[- ]signed|unable to get local issuer|PKIX|x509|unknown (?:ca|authority)|verify failed|SSL certificate problem/i;
const nameWords =
  /could ?n[o']t resolve|unable to resolve|name or service not known|ENOTFOUND|EAI_AGAIN|no such host|getaddrinfo|UnknownHostException|name resolution|unknown host|dns error/i;
const reachWords =
  /connection refused|ECONNREFUSED|network is unreachable|no route to host|failed to connect|timed out/i;

export function judgeRuntime(runtime: Runtime, { line, arrived, refused }: RuntimeFacts): DoctorFinding {
  const { name, trusts } = runtime;
  if (line === null) return fail(name, 'the sandbox ended before this was tried', 'try again: sallyport doctor');
  if (line.ended === 'absent') return absent(name, 'not in the sandbox');
  if (line.ended === 'lacking') return absent(name, `without ${runtime.needs?.missing ?? 'what it needs'}`);
  const printed = runtime.prints === null || line.out.includes(runtime.prints);
  if (arrived && printed && (line.ended === 0 || runtime.prints === null))
    return ok(name, 'sent a request and got its answer');
  if (refused !== null) return fail(name, `refused: ${refused}`, 'see which rule decides: sallyport check METHOD URL');
  // The code may be that of anything; only with the limit of ours does it mean the time.
  if (line.ended === timedOut) {
    return fail(
      name,
      `did not end in time${arrived ? ', but its request arrived' : ''}`,
      'run it by hand: sallyport run -- sh',
    );
  }
  const said = lastWords(line);
  if (!arrived && trustWords.test(line.err + line.out)) {
    return fail(
      name,
      `does not trust the CA of the sandbox: ${said}`,
      `it trusts through ${trusts}; see docs/clients.md`,
    );
  }
  if (!arrived && nameWords.test(line.err + line.out)) {
    return fail(
      name,
      `does not find the name: ${said}`,
      "it must use the sandbox's resolver (/etc/resolv.conf) or the proxy ($SALLYPORT_PROXY)",
    );
  }
  if (!arrived && reachWords.test(line.err + line.out)) {
    return fail(name, `does not reach the door: ${said}`, 'remove any proxy or fixed address from its own settings');
  }
  const where = arrived ? 'its request arrived, but it failed' : 'failed before it sent a request';
  return fail(
    name,
    `${where} (exit ${line.ended}): ${said}`,
    `check that it works outside the sandbox: ${runtime.program}; docs/clients.md says what it needs`,
  );
}

/** When nothing could be tried, nothing is known of the door, which must not look like health. */
export function judgeTried(findings: readonly DoctorFinding[]): readonly DoctorFinding[] {
  if (findings.some(({ state }) => state !== 'absent')) return findings;
  const says = 'the sandbox has none of them, so no request was tried';
  return [warn('runtimes', says, 'use a sandbox or an image that has one of them, such as curl'), ...findings];
}

/** The line that says most: the last that is not empty and not a mere frame of a stack. */
function lastWords({ err, out }: InsideLine): string {
  const lines = `${out.includes(answerWord) ? '' : out}\n${err}`.split('\n').map((text) => text.trim());
  const telling = lines.filter(
    (text) => text !== '' && !/^(?:at |\.\.\. |}|\)|npm (?:ERR!|error) A complete log)/.test(text),
  );
  const said = telling.findLast((text) => trustWords.test(text) || nameWords.test(text) || /error|fail/i.test(text));
  return (said ?? telling.at(-1) ?? 'it said nothing').slice(0, 200);
}
