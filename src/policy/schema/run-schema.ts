// What `sallyport run` would be asked for every day, kept under `run:` of the configuration. One entry here is one key: its form,
// the option of `run` that it stands for, and whether the command line adds to it or takes its place.
import * as z from 'zod';
import { parseHostPort } from '../../kit/text/host-port.ts';
import { parseCpus, parseMemory, parsePids, parseSpan } from '../../kit/text/limit-text.ts';
import { parsePublishedPort } from '../../kit/text/published-port.ts';
import type { HostPort } from '../../path/sandbox.ts';
import { listOf, strictKeys, textRead, wholeNumber, yesOrNo } from './schema.ts';

const text = z
  .string({ error: 'write a text' })
  .min(1, { error: 'the text is empty' })
  .refine((value) => !/\p{Cc}/u.test(value), { error: 'no control characters' });

interface SavedKey {
  readonly schema: z.ZodType;
  /** As commander names it. */
  readonly option: string;
  /** `add`: a list, to which the command line adds. `replace`: the command line's takes its place. */
  readonly merge: 'add' | 'replace';
  /** A relative path begins at the folder of the configuration. */
  readonly isPath?: boolean;
}

const oneOf = (...words: [string, ...string[]]): z.ZodType => z.enum(words, { error: `write ${words.join(' or ')}` });

/** Stays the text that the command line takes; a number is one too. */
function spelledAs(parse: (text: string) => { value: unknown } | { problem: string }, what: string): z.ZodType {
  const checked = textRead<string>((text) => {
    const read = parse(text);
    return 'problem' in read ? { problem: `write ${read.problem.replace(/^write /, '')}` } : { value: text };
  }, what);
  const error = `write ${what}`;
  return z.union([z.number({ error }).transform(String).pipe(checked), checked], { error });
}

export const savedKeys: Readonly<Record<string, SavedKey>> = {
  repos: { schema: listOf(text, '[owner/repo]'), option: 'repo', merge: 'add' },
  mode: { schema: oneOf('bot', 'user'), option: 'mode', merge: 'replace' },
  branches: { schema: listOf(text, '["sandbox/*"]'), option: 'branch', merge: 'add' },
  credentials: { schema: listOf(text, '[anthropic]'), option: 'credential', merge: 'add' },
  mounts: { schema: listOf(text, '["~/data"]'), option: 'mount', merge: 'add', isPath: true },
  read_only: { schema: listOf(text, '["~/notes"]'), option: 'ro', merge: 'add', isPath: true },
  env: { schema: listOf(text, '[EDITOR, "NAME=VALUE"]'), option: 'env', merge: 'add' },
  home: { schema: oneOf('fresh', 'persist'), option: 'home', merge: 'replace' },
  settings: { schema: oneOf('none', 'copy'), option: 'settings', merge: 'replace' },
  caches: {
    schema: strictKeys(
      Object.fromEntries(
        ['npm', 'pip', 'cargo', 'go'].map((name) => [name, oneOf('read-only', 'project', 'none').optional()]),
      ),
    ),
    option: 'cache',
    merge: 'add',
  },
  hide_env_files: { schema: yesOrNo, option: 'hideEnvFiles', merge: 'replace' },
  git_config: { schema: oneOf('read-only', 'writable'), option: 'gitConfig', merge: 'replace' },
  launcher: {
    schema: oneOf('bubblewrap', 'docker', 'namespaces', 'podman', 'unshare'),
    option: 'launcher',
    merge: 'replace',
  },
  image: { schema: text, option: 'image', merge: 'replace' },
  ports: {
    schema: listOf(spelledAs(parsePublishedPort, 'a port such as 3000 or "8080:3000"'), '[3000, "8080:3000"]'),
    option: 'publish',
    merge: 'add',
  },
  memory: { schema: spelledAs(parseMemory, 'a size such as 4g'), option: 'memory', merge: 'replace' },
  cpus: { schema: spelledAs(parseCpus, 'a number such as 2 or 0.5'), option: 'cpus', merge: 'replace' },
  pids: { schema: spelledAs(parsePids, 'a whole number such as 512'), option: 'pids', merge: 'replace' },
  time: { schema: spelledAs(parseSpan, 'a time such as 2h'), option: 'time', merge: 'replace' },
  dashboard: { schema: yesOrNo, option: 'dashboard', merge: 'replace' },
};

const shape = Object.fromEntries(Object.entries(savedKeys).map(([key, { schema }]) => [key, schema.optional()]));

const hostPortText = textRead<HostPort>(parseHostPort, 'a port such as 5432, or "5432:15432" for another one inside');

// What the gateway gives every sandbox of `run`, and takes away from those that run: no option.
const hostPorts = z
  .array(
    z.union([wholeNumber(1, 65_535).transform(String).pipe(hostPortText), hostPortText], {
      error: 'write a port such as 5432, or "5432:15432" for another one inside',
    }),
    { error: 'write a list such as [5432, "6379:16379"]' },
  )
  .default([])
  .refine((ports) => new Set(ports.map(({ inside }) => inside)).size === ports.length, {
    error: 'two of them have the same port inside the sandbox: give one of them another (PORT:INSIDE)',
  });

export const runSection = strictKeys({ ...shape, host_ports: hostPorts });
