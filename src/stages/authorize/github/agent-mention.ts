// Text and assignments that start somebody's agent on GitHub. That agent has its own rights, which no rule here
// limits. // Guards: threats.md T88

/** Agents that begin to work where they are mentioned; `@copilot-swe-agent` and the like begin with one of these names. */
const names = 'copilot|claude|codex|cursor|cursoragent|gemini-cli|openhands|devin-ai-integration|google-labs-jules';
/** As GitHub shows it: an `@` may be written as an entity. Not within a word or an address. */
const mention = new RegExp(`(?<!\\w)@(?:${names})(?!\\w)`, 'i');
const entity = /&#0*64;?|&#x0*40;?|&commat;/gi;

/** Whether any text in it, however deep, calls an agent by name. */
export function mentionsAgent(value: unknown): boolean {
  if (typeof value === 'string') return mention.test(value.replace(entity, '@'));
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(mentionsAgent);
}

/** What a call names that is given an issue or asked for a review. Anything but text could be a name in disguise. */
const given = ['assignee', 'assignees', 'reviewers', 'team_reviewers'] as const;
const isAgent = (one: unknown): boolean => typeof one !== 'string' || /\[bot\]$|^@?copilot/i.test(one.trim());

/** Whether the body of a call gives work to an agent. */
export function givesToAgent(body: Readonly<Record<string, unknown>>): boolean {
  const named = given.flatMap((field) => body[field]).filter((one) => one !== undefined && one !== null);
  return named.some(isAgent) || body.agent_assignment !== undefined;
}
