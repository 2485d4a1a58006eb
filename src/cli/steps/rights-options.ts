// The options that say what a sandbox may do, alike for `register` and `run`, and the part of a registration they become.
import { type Command, Option } from 'commander';

export interface RightsOptions {
  readonly repo?: string[];
  readonly mode?: string;
  readonly branch?: string[];
  readonly credential?: string[];
}

/** For an option that may be repeated. */
export const gather = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

export function addRightsOptions(command: Command): Command {
  return command
    .option('--repo <OWNER/REPO>', 'a repository it may use; may be repeated', gather)
    .addOption(
      new Option('--mode <MODE>', 'bot: pushes only to --branch; user: to any unprotected').choices(['bot', 'user']),
    )
    .option('--branch <PATTERN>', 'a branch it may push to (default sandbox/*); may be repeated', gather)
    .option('--credential <NAME>', 'a credential it may use (default: all); may be repeated', gather);
}

export function asRights(options: RightsOptions): Record<string, unknown> {
  return {
    repos: options.repo ?? [],
    ...(options.mode !== undefined && { auth_mode: options.mode }),
    ...(options.branch !== undefined && { allowed_branches: options.branch }),
    ...(options.credential !== undefined && { credentials: options.credential }),
  };
}
