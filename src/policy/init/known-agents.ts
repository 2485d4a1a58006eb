// The agents that people run in sandboxes, and which presets each of them cannot do without. Found by their program's name on
// PATH; nothing of them is started or read here.

export interface KnownAgent {
  /** What is typed to start it. */
  readonly program: string;
  /** Empty: it speaks with whichever provider its user has a credential of. */
  readonly presets: readonly string[];
}

/** In the order in which one is proposed when several are there. */
export const knownAgents: readonly KnownAgent[] = [
  { program: 'claude', presets: ['anthropic'] },
  { program: 'codex', presets: ['openai'] },
  { program: 'gemini', presets: ['google'] },
  { program: 'opencode', presets: [] },
  { program: 'aider', presets: [] },
  { program: 'goose', presets: [] },
  { program: 'crush', presets: [] },
];

/** Those whose program one of the folders of PATH has. */
export function findAgents(isThere: (program: string) => boolean): readonly KnownAgent[] {
  return knownAgents.filter(({ program }) => isThere(program));
}
