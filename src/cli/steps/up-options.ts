// The flags of `sallyport up` that a container needs: which doors stand in for those of the file, and the refusal of
// credentials that came as environment variables. Names variables, never prints their values.
import type { Command } from 'commander';
import type { CompiledPolicy, ListenSettings } from '../../policy/compiled.ts';
import type { Parsed } from '../../policy/schema/parsed.ts';
import { looksLikeCredential, looksLikeSecretValue } from '../../sandbox/stubs/credential-variables.ts';
import { CommandFailed, exitCode } from '../terminal/exit-code.ts';

export interface UpOptions {
  readonly config?: string;
  readonly listenProxy?: readonly string[];
  readonly listenMtls?: readonly string[];
  readonly listenGateway?: readonly string[];
  readonly publish?: string;
  readonly refuseCredentialVariables?: boolean;
  readonly verbose?: boolean;
}

export function addUpOptions(command: Command): Command {
  const place = "instead of the file's; may be repeated";
  return command
    .option('--listen-proxy <ADDRESS:PORT>', `explicit proxy door, ${place}`, collect)
    .option('--listen-mtls <ADDRESS:PORT>', `mTLS door, ${place}`, collect)
    .option('--listen-gateway <ADDRESS>', `DNS and transparent door, ${place}`, collect)
    .option('--publish <DIR>', 'put the CA certificate and a bundle with it there, for sandboxes to read')
    .option('--refuse-credential-variables', 'do not start with a credential in the environment')
    .option('-v, --verbose', 'print every control, not only those that are off');
}

/** Null: the file's doors are the ones. */
export async function listenOf(options: UpOptions): Promise<Partial<ListenSettings> | null> {
  const { listenProxy, listenMtls, listenGateway } = options;
  if (!listenProxy && !listenMtls && !listenGateway) return null;
  // Late: every other command goes without the schema and its library.
  const { parseGatewayAddress, parseListenAddress } = await import('../../policy/schema/settings-schema.ts');
  return {
    ...(listenProxy && { proxy: readAll('--listen-proxy', listenProxy, parseListenAddress) }),
    ...(listenMtls && { mtls: readAll('--listen-mtls', listenMtls, parseListenAddress) }),
    ...(listenGateway && { gateway: readAll('--listen-gateway', listenGateway, parseGatewayAddress) }),
  };
}

function readAll<T>(flag: string, texts: readonly string[], parse: (text: string) => Parsed<T>): readonly T[] {
  return texts.map((text) => {
    const parsed = parse(text);
    if ('problem' in parsed) throw new CommandFailed(exitCode.usage, `${flag} ${text}: ${parsed.problem}`);
    return parsed.value;
  });
}

/** Throws where the environment holds a credential, or the configuration would look for one there. */
export function refuseCredentialVariables(
  env: Readonly<Record<string, string | undefined>>,
  credentials: CompiledPolicy['credentials'],
): void {
  const held = Object.entries(env)
    .filter(([name, value]) => value && (looksLikeCredential(name) || looksLikeSecretValue(value)))
    .map(([name]) => name)
    .sort();
  const asked = [...credentials.values()].flatMap(({ name, source }) => {
    const spec = source.kind === 'github-app' ? source.privateKey : source;
    return spec.kind === 'environment' ? [`${name} (source env ${spec.variable})`] : [];
  });
  const problems = [
    ...(held.length > 0 ? [`the gateway's environment holds what looks like credentials: ${held.join(', ')}`] : []),
    ...(asked.length > 0 ? [`the configuration takes credentials from the environment: ${asked.join(', ')}`] : []),
  ];
  if (problems.length === 0) return;
  throw new CommandFailed(
    exitCode.usage,
    `${problems.join('; ')}. That is refused here (--refuse-credential-variables)`,
    'Environments are shown by `docker inspect`, kept in compose files and inherited by children. Hand a credential over as a file (source: {file: /run/secrets/NAME}), or without a source and then: sallyport secret set NAME < file',
  );
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
