// Judges the demonstration by what the sandbox saw, what the pretend providers received and what the journal says. Everything
// shown comes from there; a step that went otherwise is reported as a problem.
import type { SeenRequest } from '../internet/pretend-world.ts';
import { foreignHost, foreignRepository, literalAddress, modelHost, ownRepository } from './demo-hosts.ts';
import type { InsideOrder, InsideReport, StepName } from './inside-script.ts';

export interface DemoFacts {
  readonly reports: readonly InsideReport[];
  readonly seen: readonly SeenRequest[];
  /** Codes of refusals in the journal. */
  readonly journal: readonly string[];
  readonly refs: { readonly before: string; readonly after: string };
  readonly key: string;
  readonly order: InsideOrder;
}

export interface WorkedStep {
  readonly asked: string;
  /** What it holds in the place of a key. */
  readonly sandboxHolds: string;
  /** Masked: enough to see that it is another. */
  readonly providerGot: string;
  readonly status: number | null;
  readonly answer: string;
  readonly keyFile: string;
  /** What came of reading it inside. */
  readonly keyFileRead: string;
}

export interface RefusedStep {
  readonly step: StepName;
  readonly tried: string;
  readonly about: string;
  readonly code: string;
  /** As the sandbox got them. */
  readonly words: string;
}

export interface DemoVerdict {
  readonly worked: WorkedStep;
  readonly refused: readonly RefusedStep[];
  /** Empty: everything went as it should. */
  readonly problems: readonly string[];
}

interface Expected {
  readonly step: StepName;
  readonly about: string;
  tried(order: InsideOrder): string;
  readonly code: string;
  /** Of a push: the line of git's output that says why. */
  readonly line?: RegExp;
  /** A request that must not have arrived. */
  arrived(seen: SeenRequest): boolean;
}

const isPush = ({ method, url }: SeenRequest): boolean => method === 'POST' && url.endsWith('/git-receive-pack');

const expected: readonly Expected[] = [
  {
    step: 'host',
    about: 'a host that is not allowed',
    tried: ({ foreignUrl }) => `GET ${foreignUrl}`,
    code: 'domain.not-allowed',
    arrived: ({ host }) => host === foreignHost,
  },
  {
    step: 'address',
    about: 'an address instead of a name',
    tried: ({ literalUrl }) => `GET ${literalUrl}`,
    code: 'target.literal-address',
    arrived: ({ host }) => host === literalAddress,
  },
  {
    step: 'push-main',
    about: 'a push to main',
    tried: () => 'git push origin HEAD:main',
    code: 'push.protected-branch',
    line: /^remote: - (.*protected branch.*)$/m,
    arrived: isPush,
  },
  {
    step: 'push-force',
    about: 'a push that rewrites history',
    tried: () => 'git push --force origin HEAD:sandbox/work',
    code: 'push.force',
    line: /^remote: - (.*would rewrite.*)$/m,
    arrived: isPush,
  },
  {
    step: 'foreign-repository',
    about: 'a repository that is not its own',
    tried: ({ foreignApiUrl }) => `GET ${foreignApiUrl}`,
    code: 'repo.not-allowed',
    arrived: ({ url }) => url.includes(foreignRepository),
  },
  {
    step: 'delete-repository',
    about: 'to delete its own repository',
    tried: ({ deleteUrl }) => `DELETE ${deleteUrl}`,
    code: 'policy.blocked-api',
    arrived: ({ method }) => method === 'DELETE',
  },
];

export const insideOrder = (keyFile: string): InsideOrder => ({
  modelUrl: `https://${modelHost}/v1/messages`,
  keyFile,
  foreignUrl: `https://${foreignHost}/collect`,
  literalUrl: `https://${literalAddress}/`,
  repositoryUrl: `https://github.com/${ownRepository}`,
  foreignApiUrl: `https://api.github.com/repos/${foreignRepository}`,
  deleteUrl: `https://api.github.com/repos/${ownRepository}`,
});

export function judgeDemo(facts: DemoFacts): DemoVerdict {
  const problems: string[] = [];
  const reportOf = (step: StepName): InsideReport => {
    const found = facts.reports.find((report) => report.step === step);
    if (found === undefined) problems.push(`${step}: the sandbox did not get that far`);
    return found ?? { step, status: null, refusedAs: null, text: '' };
  };
  const worked = judgeWorked(facts, reportOf, problems);
  const clone = reportOf('clone');
  if (clone.status !== 0) problems.push(`the clone of ${ownRepository} failed: ${clone.text.trim()}`);
  const refused = expected.map((one) => judgeRefused(one, facts, reportOf(one.step), problems));
  if (facts.refs.before !== facts.refs.after) problems.push('a ref of a repository has changed');
  return { worked, refused, problems };
}

function judgeWorked(facts: DemoFacts, reportOf: (step: StepName) => InsideReport, problems: string[]): WorkedStep {
  const model = reportOf('model');
  const got = facts.seen.find(({ host, method }) => host === modelHost && method === 'POST');
  const received = String(got?.headers['x-api-key'] ?? '');
  const sandboxHolds = model.sentKey ?? '';
  const file = reportOf('key-file');
  if (model.status !== 200)
    problems.push(`the request that should work got ${model.status ?? 'no answer'}: ${model.text}`);
  if (received !== facts.key) problems.push('the provider did not receive the key');
  if (sandboxHolds === '' || sandboxHolds.includes(facts.key)) problems.push('the sandbox does not hold a placeholder');
  if (facts.reports.some(({ text }) => text.includes(facts.key))) problems.push('the sandbox got to see the key');
  // In plain unshare an empty file lies in its place.
  if (file.status === 0 && file.text !== '') problems.push(`the sandbox could read ${facts.order.keyFile}`);
  return {
    asked: `POST ${facts.order.modelUrl}`,
    sandboxHolds,
    providerGot: masked(received),
    status: model.status,
    answer: messageIn(model.text),
    keyFile: facts.order.keyFile,
    keyFileRead: file.text === '' && file.status === 0 ? 'an empty file in its place' : file.text,
  };
}

function judgeRefused(one: Expected, facts: DemoFacts, report: InsideReport, problems: string[]): RefusedStep {
  const { code, words } = one.line === undefined ? spokenOverHttp(report) : spokenToGit(one, one.line, report);
  const tried = one.tried(facts.order);
  if (code !== one.code) {
    const came = report.text.trim().slice(0, 300) || 'nothing';
    problems.push(`${tried}: should be refused as ${one.code}; it got ${report.status ?? 'no answer'}: ${came}`);
  } else if (!facts.journal.includes(one.code)) {
    problems.push(`${tried}: the journal has no ${one.code}`);
  }
  if (facts.seen.some((seen) => one.arrived(seen))) problems.push(`${tried}: it arrived at the provider`);
  return { step: one.step, tried, about: one.about, code, words };
}

function spokenOverHttp({ text, refusedAs }: InsideReport): { code: string; words: string } {
  try {
    const { error, code } = JSON.parse(text) as { error?: unknown; code?: unknown };
    // The field says that it is ours: an upstream can write the same body.
    return { code: refusedAs === code ? String(code) : 'not refused by us', words: String(error) };
  } catch {
    return { code: 'not refused', words: text.trim() };
  }
}

/** git shows words and no code: the words decide here, the code in the journal is looked for besides. */
function spokenToGit(one: Expected, line: RegExp, { text, status }: InsideReport): { code: string; words: string } {
  const said = line.exec(text.replaceAll('\r', '').replace(/[ \t]+$/gm, ''))?.[1];
  if (said === undefined || status === 0) return { code: 'not refused', words: text.trim() };
  return { code: one.code, words: said };
}

function messageIn(text: string): string {
  try {
    return String((JSON.parse(text) as { content: { text: string }[] }).content[0]?.text);
  } catch {
    return text;
  }
}

/** The kind of key and a little of it: whoever looks over a shoulder learns nothing. */
export function masked(key: string): string {
  if (key === '') return 'no key';
  return key.length < 24 ? `… (${key.length} characters)` : `${key.slice(0, 17)}… (${key.length} characters)`;
}
