// Placeholders: what stands in a sandbox where tools look for a key. They have the shape that clients check before they
// send anything, and say what they are to whoever reads them. None is or ever was a key: the gateway takes them off every
// request and puts the real credential in.
import { placeholderFor, placeholderSigns } from '../../kit/text/placeholder.ts';

interface Placeholder {
  /** Variables that clients of this provider read. */
  readonly variables: readonly string[];
  readonly prefix: string;
}

/** By credential, as the presets name them. Those that are always a login (chatgpt, gemini, copilot) have no variable. */
const placeholders: ReadonlyMap<string, Placeholder> = new Map(
  Object.entries({
    anthropic: of('sk-ant-api03-', 'ANTHROPIC_API_KEY'),
    openai: of('sk-proj-', 'OPENAI_API_KEY', 'CODEX_API_KEY'),
    // GOOGLE_API_KEY is left out: clients that read both print a warning on every start when both are set.
    google: of('AIza', 'GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'),
    github: of('ghp_', 'GH_TOKEN', 'GITHUB_TOKEN'),
    gitlab: of('glpat-', 'GITLAB_TOKEN'),
    huggingface: of('hf_', 'HF_TOKEN'),
    mistral: of('', 'MISTRAL_API_KEY'),
    groq: of('gsk_', 'GROQ_API_KEY'),
    xai: of('xai-', 'XAI_API_KEY'),
    openrouter: of('sk-or-v1-', 'OPENROUTER_API_KEY'),
    deepseek: of('sk-', 'DEEPSEEK_API_KEY'),
    perplexity: of('pplx-', 'PERPLEXITY_API_KEY'),
    tavily: of('tvly-', 'TAVILY_API_KEY'),
    cohere: of('', 'COHERE_API_KEY', 'CO_API_KEY'),
  }),
);

/**
 * Variables for a sandbox that may use these credentials. One that is not set gets no placeholder: then the client itself
 * says that it has no key, where a placeholder would only turn its first request into a refusal. Neither does a login: its
 * agent has a file, and a key in the environment would count more.
 */
export function placeholderVariables(
  credentials: ReadonlySet<string>,
  logins: ReadonlySet<string> = new Set(),
): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const name of credentials) {
    if (logins.has(name)) continue;
    const placeholder = placeholders.get(name);
    for (const variable of placeholder?.variables ?? [])
      variables[variable] = placeholderFor(name, placeholder!.prefix);
    if (name === 'aws') Object.assign(variables, awsVariables);
  }
  // Codex takes this key before its login.
  if (credentials.has('chatgpt')) delete variables.CODEX_API_KEY;
  return variables;
}

/** A pair: what goes out is signed anew with the real one. */
const awsVariables: Readonly<Record<string, string>> = {
  AWS_ACCESS_KEY_ID: placeholderSigns('aws').at(-1)!,
  AWS_SECRET_ACCESS_KEY: placeholderFor('aws'),
};

/** What `sallyport secret list` knows of a credential, as far as it matters here. */
interface ListedCredential {
  readonly name: string;
  readonly set: boolean;
  /** Not known yet: it is asked for when a request needs it. */
  readonly unasked?: boolean;
  /** Its value is the token of a login; absent: not known. */
  readonly login?: boolean;
}

/** The credentials that a sandbox can count on: granted to it (null: all) and set, or to be had when they are asked for. */
export function usableCredentials(
  listed: readonly ListedCredential[],
  granted: readonly string[] | null,
): ReadonlySet<string> {
  const usable = listed.filter(({ set, unasked }) => set || unasked === true);
  return new Set(usable.map(({ name }) => name).filter((name) => granted === null || granted.includes(name)));
}

/** Those of them that are the login of an agent and not a key. */
export function usableLogins(listed: readonly ListedCredential[], usable: ReadonlySet<string>): string[] {
  return listed.filter(({ name, login }) => login === true && usable.has(name)).map(({ name }) => name);
}

/** What clients of this provider look for before they send anything. */
export function usualPrefix(credential: string): string {
  return placeholders.get(credential)?.prefix ?? '';
}

function of(prefix: string, ...variables: string[]): Placeholder {
  return { variables, prefix };
}
