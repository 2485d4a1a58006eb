// The cases of `sallyport policy test`: requests and pushes with what the policy must say to them, read from YAML with every
// error at once and its place. Judges nothing itself.
import * as z from 'zod';
import { plainTarget } from '../../kit/text/plain-target.ts';
import { canonicalRepositoryPattern } from '../../kit/text/repository-name.ts';
import { type RefusalCode, refusalStatus } from '../../path/refusal.ts';
import type { Sandbox } from '../../path/sandbox.ts';
import { didYouMean } from '../schema/closest-word.ts';
import { readDocument } from '../schema/document.ts';
import { Findings } from '../schema/findings.ts';
import type { PolicyError } from '../schema/policy-error.ts';
import { hostName, listOf, strictKeys, textRead, yesOrNo } from '../schema/schema.ts';

export type CaseSandbox = Pick<Sandbox, 'repos' | 'authMode' | 'allowedBranches' | 'credentials'>;

export interface CaseRequest {
  readonly kind: 'request';
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Null: none is given. A case of a file always has one. */
  readonly body: string | null;
}

/** A push as far as it can be told without a server: what it does to one ref, and what it is said to change. */
export interface CasePush {
  readonly kind: 'push';
  readonly host: string;
  readonly repository: string;
  readonly ref: string;
  readonly deletes: boolean;
  readonly rewrites: boolean;
  readonly paths: readonly string[];
}

export type CaseOutcome = 'allowed' | 'refused' | 'ask' | 'undecided';

export interface PolicyCase {
  readonly name: string;
  readonly line: number;
  readonly sandbox: CaseSandbox;
  readonly asked: CaseRequest | CasePush;
  readonly expect: CaseOutcome;
  /** Null: any. */
  readonly code: RefusalCode | null;
  readonly rule: string | null;
  /** Undefined: any; null: none. */
  readonly credential: string | null | undefined;
}

export interface PolicyCases {
  readonly file: string;
  /** The configuration it names, as it stands there; null: as it would be found. */
  readonly policy: string | null;
  readonly cases: readonly PolicyCase[];
  /** Errors for credentials that the policy does not know. */
  unknownCredentials(known: ReadonlySet<string>): readonly PolicyError[];
}

export type CasesResult =
  | { readonly ok: true; readonly cases: PolicyCases }
  | { readonly ok: false; readonly errors: readonly PolicyError[] };

const text = z.string({ error: 'write a text' }).min(1, { error: 'the text is empty' });

const repository = textRead<string>((given) => {
  const canonical = canonicalRepositoryPattern(given);
  return canonical === null ? { problem: 'write a repository such as acme/widgets' } : { value: canonical };
}, 'a repository such as acme/widgets');

const oneRepository = repository.refine((name) => !name.endsWith('/*'), { error: 'write one repository' });

const sandboxKeys = strictKeys({
  repos: z.array(repository, { error: 'write a list such as [acme/widgets]' }).optional(),
  auth_mode: z.enum(['bot', 'user'], { error: 'write bot or user' }).optional(),
  allowed_branches: z.array(text, { error: 'write a list such as ["sandbox/*"]' }).optional(),
  credentials: z.array(text, { error: 'write a list of credentials by name' }).optional(),
});

const requestLine = textRead<{ method: string; url: string }>((given) => {
  if (plainTarget(given) !== null) return { value: { method: 'CONNECT', url: given } };
  const [, method, url] = /^([A-Z][A-Z-]*) +(https?:\/\/\S+)$/.exec(given) ?? [];
  return method !== undefined && url !== undefined
    ? { value: { method, url } }
    : {
        problem:
          'write a method and a whole URL such as "GET https://api.example.com/v1/models", or tcp://cache.example.com:6379',
      };
}, 'a request such as "GET https://api.example.com/v1/models"');

const requestKeys = strictKeys({
  method: z.string({ error: 'write a method' }).regex(/^[A-Z][A-Z-]*$/, { error: 'write a method such as GET' }),
  url: z.string({ error: 'write a URL' }).regex(/^https?:\/\/\S+$/, { error: 'write the whole URL, from https://' }),
  headers: z
    .record(text, z.union([z.string(), z.array(z.string())], { error: 'write a text, or a list of texts' }), {
      error: 'write a map of header names and values',
    })
    .optional(),
  body: z.string({ error: 'write the body as a text' }).optional(),
  json: z.unknown().optional(),
}).refine(({ body, json }) => body === undefined || json === undefined, {
  error: 'write `body` or `json`, not both',
});

const branchName = text.regex(/^(?!refs\/)[^\s\p{Cc}~^:?*[\\]+$/u, {
  error: 'write the name of one branch or tag, without refs/',
});

const pushKeys = strictKeys({
  repo: oneRepository,
  host: hostName.default('github.com'),
  branch: branchName.optional(),
  tag: branchName.optional(),
  delete: yesOrNo.default(false),
  force: yesOrNo.default(false),
  paths: listOf(text, '[src/main.ts]').default([]),
}).refine(({ branch, tag }) => (branch === undefined) !== (tag === undefined), {
  error: 'write `branch: NAME` or `tag: NAME`',
});

const refusalCode = textRead<RefusalCode>((given) => {
  if (Object.hasOwn(refusalStatus, given)) return { value: given as RefusalCode };
  return { problem: `there is no such code: ${didYouMean(given, Object.keys(refusalStatus))}` };
}, 'the code of a refusal such as domain.not-allowed');

const caseKeys = strictKeys({
  name: text,
  request: z.unknown().optional(),
  push: z.unknown().optional(),
  sandbox: sandboxKeys.optional(),
  expect: z.enum(['allowed', 'refused', 'ask', 'undecided'], {
    error: 'write allowed, refused, ask or undecided',
  }),
  code: refusalCode.optional(),
  rule: text.optional(),
  credential: text.nullable().optional(),
});

const fileKeys = strictKeys({
  policy: text.optional(),
  sandbox: sandboxKeys.prefault({}),
  cases: z.array(z.unknown(), { error: 'write a list of cases' }).min(1, { error: 'there is no case: write one' }),
});

export function readPolicyCases(source: string, file: string): CasesResult {
  const read = readDocument(source, file);
  if (!read.ok) return read;
  const findings = new Findings(read.document);
  const checked = findings.check(fileKeys, read.document.value ?? {}, []);
  // Cases are looked at even when something else in the file is wrong: a person sees all errors at once.
  const written: unknown = Reflect.get(Object(read.document.value), 'cases');
  const cases = (Array.isArray(written) ? written : []).map((one, i) =>
    readCase(one, i, checked?.sandbox ?? {}, findings),
  );
  if (findings.errors.length > 0 || checked === undefined) return { ok: false, errors: sorted(findings.errors) };
  return {
    ok: true,
    cases: {
      file,
      policy: checked.policy ?? null,
      cases: cases.filter((one) => one !== null),
      unknownCredentials: (known) => unknownCredentials(new Findings(read.document), read.document.value, known),
    },
  };
}

type WrittenSandbox = z.output<typeof sandboxKeys>;

function readCase(value: unknown, index: number, shared: WrittenSandbox, findings: Findings): PolicyCase | null {
  const path = ['cases', index];
  const checked = findings.check(caseKeys, value, path);
  // Also of a case with another error, for the same reason.
  const asked = isMap(value) ? readAsked(value, path, findings) : null;
  if (checked === undefined) return null;
  const { expect, code = null, rule = null, credential } = checked;
  if (code !== null && expect !== 'refused') {
    findings.error([...path, 'code'], '`code` is that of a refusal: it goes with `expect: refused` only', 'key');
  }
  if (credential !== undefined && expect !== 'allowed' && expect !== 'ask') {
    findings.error([...path, 'credential'], '`credential` goes with `expect: allowed` or `expect: ask` only', 'key');
  }
  if (asked === null) return null;
  const sandbox = sandboxOf({ ...shared, ...checked.sandbox });
  return { name: checked.name, line: findings.lineOf(path), sandbox, asked, expect, code, rule, credential };
}

function readAsked(
  { request, push }: Readonly<Record<string, unknown>>,
  path: (string | number)[],
  findings: Findings,
): PolicyCase['asked'] | null {
  if ((request === undefined) === (push === undefined)) {
    findings.error(path, `write what is tried: \`request\` or \`push\`${push === undefined ? '' : ', not both'}`);
    return null;
  }
  if (push !== undefined) return readPush(push, [...path, 'push'], findings);
  if (typeof request === 'string') {
    const line = findings.check(requestLine, request, [...path, 'request']);
    return line === undefined ? null : { kind: 'request', ...line, headers: {}, body: '' };
  }
  const checked = findings.check(requestKeys, request, [...path, 'request']);
  if (checked === undefined) return null;
  const { method, url, headers = {}, body = '', json } = checked;
  return { kind: 'request', method, url, headers, body: json === undefined ? body : JSON.stringify(json) };
}

function readPush(value: unknown, path: (string | number)[], findings: Findings): CasePush | null {
  const checked = findings.check(pushKeys, value, path);
  if (checked === undefined) return null;
  const ref = checked.branch === undefined ? `refs/tags/${checked.tag}` : `refs/heads/${checked.branch}`;
  const { host, repo, delete: deletes, force, paths } = checked;
  return { kind: 'push', host, repository: repo, ref, deletes, rewrites: force, paths };
}

/** As a registration that says no more. */
function sandboxOf({ repos, auth_mode, allowed_branches, credentials }: WrittenSandbox): CaseSandbox {
  return {
    repos: repos ?? [],
    authMode: auth_mode ?? 'bot',
    allowedBranches: allowed_branches ?? ['sandbox/*'],
    credentials: credentials ?? null,
  };
}

function unknownCredentials(findings: Findings, document: unknown, known: ReadonlySet<string>): PolicyError[] {
  const check = (holder: unknown, path: (string | number)[]): void => {
    const named: unknown = Reflect.get(Object(Reflect.get(Object(holder), 'sandbox')), 'credentials');
    for (const [i, name] of (Array.isArray(named) ? named : []).entries()) {
      if (known.has(String(name))) continue;
      const problem = `the policy has no such credential: ${didYouMean(String(name), known)}`;
      findings.error([...path, 'sandbox', 'credentials', i], problem);
    }
  };
  check(document, []);
  const cases: unknown = Reflect.get(Object(document), 'cases');
  for (const [i, one] of (Array.isArray(cases) ? cases : []).entries()) check(one, ['cases', i]);
  return sorted(findings.errors);
}

function sorted(errors: readonly PolicyError[]): PolicyError[] {
  return [...errors].sort((a, b) => a.line - b.line || a.column - b.column);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
