// Placeholders: what stands in a sandbox where tools look for a key. They have the shape that clients check before they
// send anything, and say what they are to whoever reads them. None is or ever was a key: the gateway takes them off every
// request and puts the real credential in.

/** In every placeholder, so that one is known for what it is wherever it turns up. */
export const placeholderMark = 'sallyport-placeholder';

interface Placeholder {
  /** Variables that clients of this provider read. */
  readonly variables: readonly string[];
  readonly value: string;
}

/** By credential, as the presets name them. The ones that take OAuth tokens (chatgpt, vertex) have no variable. */
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
 * says that it has no key, where a placeholder would only turn its first request into a refusal.
 */
export function placeholderVariables(credentials: ReadonlySet<string>): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const name of credentials) {
    const placeholder = placeholders.get(name);
    for (const variable of placeholder?.variables ?? []) variables[variable] = placeholder!.value;
  }
  return variables;
}

/** What `sallyport secret list` knows of a credential, as far as it matters here. */
interface ListedCredential {
  readonly name: string;
  readonly source: string;
  readonly set: boolean;
  readonly error: string | null;
}

/** The credentials that a sandbox can count on: granted to it (null: all) and set, or to be had by running a command. */
export function usableCredentials(
  listed: readonly ListedCredential[],
  granted: readonly string[] | null,
): ReadonlySet<string> {
  const usable = listed.filter(({ set, source, error }) => set || (source === 'command' && error === null));
  return new Set(usable.map(({ name }) => name).filter((name) => granted === null || granted.includes(name)));
}

function of(prefix: string, ...variables: string[]): Placeholder {
  // Long enough for clients that look at the length, and the end says the rest: some show only that.
  return { variables, value: `${prefix}${placeholderMark}-the-gateway-puts-the-real-key-in` };
}
