// Text and assignments that start an agent of somebody's on GitHub: it works with rights of its own, which no rule here
// limits. // Guards: threats.md T88

/** As GitHub shows it: an `@` may be written as an entity. Not within a word or an address. */
const mention = /(?<!\w)@(?:copilot|claude|codex)(?!\w)/i;
const entity = /&#0*64;?|&#x0*40;?|&commat;/gi;

/** Whether any text in it, however deep, calls an agent by name. */
export function mentionsAgent(value: unknown): boolean {
  if (typeof value === 'string') return mention.test(value.replace(entity, '@'));
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(mentionsAgent);
}

/** Whether the body of a call gives its issue to an agent. */
export function assignsAgent(body: Readonly<Record<string, unknown>>): boolean {
  const isAgent = (one: unknown): boolean => typeof one !== 'string' || /\[bot\]$|^copilot/i.test(one.trim());
  const named = [body.assignee, body.assignees].flat().filter((one) => one !== undefined && one !== null);
  return named.some(isAgent) || body.agent_assignment !== undefined;
}
