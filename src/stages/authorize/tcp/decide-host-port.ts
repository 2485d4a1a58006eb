// May this sandbox open a connection to a port of the host's own loopback: only one that it was started with or that the policy
// gives to all. Which of the host's services may stand behind it is looked at where it is dialled. Pure.
// Guards: threats.md T110
import type { CanonicalRequest, Permission } from '../../../path/flow.ts';
import { Refusal } from '../../../path/refusal.ts';
import type { Sandbox } from '../../../path/sandbox.ts';
import type { CompiledPolicy } from '../../../policy/compiled.ts';

export function decideHostPort(policy: CompiledPolicy, sandbox: Sandbox, { port }: CanonicalRequest): Permission {
  const rule = ruleFor(policy, sandbox, port);
  if (rule === null) {
    throw new Refusal('target.port', `port ${port} of the host is not one of this sandbox`, {
      rule: 'run.host_ports (no entry covers the port)',
      hint: `Start the sandbox with it: sallyport run --host-port ${port}, or add ${port} to run.host_ports in sallyport.yaml.`,
    });
  }
  return { rule, tunnel: false, tcp: true, credential: null, git: null, github: null, repository: null };
}

function ruleFor(policy: CompiledPolicy, sandbox: Sandbox, port: number): string | null {
  if (sandbox.hostPorts?.some((one) => one.port === port)) return `--host-port ${port}`;
  if (sandbox.namespacePid == null || sandbox.containerId !== null) return null;
  const at = policy.run.hostPorts.findIndex((one) => one.port === port);
  return at < 0 ? null : `run.host_ports[${at}]`;
}
