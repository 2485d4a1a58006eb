// Proposals that nobody has answered yet, kept in the state directory until they are applied: one file each, the newest fifty.
// They hold names of hosts and counts, never a credential, and nothing is read from a file that does not have this form.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeFileAtomically } from '../../kit/files/atomic-file.ts';
import { ensurePrivateDirectory } from '../../kit/files/secure-directory.ts';

const entry = z.strictObject({
  preset: z.string().optional(),
  host: z.string().optional(),
  methods: z.array(z.string()).optional(),
  comment: z.string().optional(),
});

const refused = z.strictObject({
  method: z.string(),
  scheme: z.string(),
  host: z.string(),
  port: z.number(),
  path: z.string(),
  code: z.string(),
  rule: z.string(),
  reason: z.string(),
  times: z.number(),
  /** Where the rule that refused it stands in the configuration; null: in none. */
  line: z.number().nullable(),
});

const learnedSession = z.strictObject({
  sandbox: z.string(),
  at: z.string(),
  /** The configuration that was in force; null: the built-in one. */
  config: z.string().nullable(),
  /** Where the session worked: a configuration of its own would go there. */
  directory: z.string(),
  entries: z.array(entry),
  refused: z.array(refused),
  leftOut: z.number(),
});

export type LearnedSession = z.output<typeof learnedSession>;

const maxKept = 50;
const maxFileBytes = 1024 * 1024;
/** As ids of sandboxes are; nothing that leads out of the folder. */
const idForm = /^[a-z0-9][a-z0-9_.-]{0,62}$/;

export class LearnedSessions {
  readonly #folder: string;

  /** `folder` is in the state directory: no sandbox reaches it. */
  constructor(home: string) {
    this.#folder = join(home, 'learned');
  }

  async keep(session: LearnedSession): Promise<void> {
    ensurePrivateDirectory(this.#folder);
    await writeFileAtomically(this.#fileOf(session.sandbox), `${JSON.stringify(session, null, 2)}\n`);
    for (const { sandbox } of this.list().slice(maxKept)) this.forget(sandbox);
  }

  /** The newest first. */
  list(): readonly LearnedSession[] {
    let names: string[];
    try {
      names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    } catch {
      return [];
    }
    const sessions = names.flatMap((name) => this.find(name.slice(0, -'.json'.length)) ?? []);
    return sessions.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  }

  /** Null: there is none of this sandbox, or it cannot be read. */
  find(sandbox: string): LearnedSession | null {
    if (!idForm.test(sandbox)) return null;
    const file = this.#fileOf(sandbox);
    try {
      if (statSync(file).size > maxFileBytes) return null;
      const read = learnedSession.safeParse(JSON.parse(readFileSync(file, 'utf8')));
      return read.success && read.data.sandbox === sandbox ? read.data : null;
    } catch {
      return null;
    }
  }

  forget(sandbox: string): void {
    if (idForm.test(sandbox)) rmSync(this.#fileOf(sandbox), { force: true });
  }

  #fileOf(sandbox: string): string {
    if (!idForm.test(sandbox)) throw new Error('this is not the id of a sandbox');
    return join(this.#folder, `${sandbox}.json`);
  }
}
