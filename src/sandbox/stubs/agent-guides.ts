// What agents read in their home before they begin: that a door stands between them and the world, and where it says why it
// refused something. The text is the one that is answered at http://sallyport.internal/ too.
import { readFileSync } from 'node:fs';
import { inPackage } from '../../kit/files/package-root.ts';
import type { AgentStub } from './agent-stubs.ts';

/** Where claude, codex, gemini and opencode look, whatever the project has of its own. */
const places = ['.claude/CLAUDE.md', '.codex/AGENTS.md', '.gemini/GEMINI.md', '.config/opencode/AGENTS.md'];

/** To be written where the file does not exist, as the stubs are. */
export function agentGuides(): readonly AgentStub[] {
  const text = readFileSync(inPackage('config', 'AGENTS.sallyport.md'), 'utf8');
  return places.map((path) => ({ path, text, mode: 0o600 }));
}
