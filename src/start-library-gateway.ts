// Starts a gateway for a program: what `sallyport up` does, without what a command does to its process. A thin door to the same
// service: decides nothing, and gives out no value of a credential.
import { resolve } from 'node:path';
import type { Gateway } from './cli/gateway-port.ts';
import { loadService } from './cli/load-service.ts';
import { deskOfGateway } from './cli/sandbox-desk.ts';
import { sealMemory } from './kit/core-dumps.ts';
import { findHome } from './kit/home.ts';
import { logOf, recordsOf, rememberDesk } from './library-desk.ts';
import type { GatewayOptions, SallyportGateway } from './library-gateway.ts';
import { PolicySource } from './library-policy.ts';

/** Who has answered, as the journal says it. */
const ownProgram = 'the program that runs the gateway';

/**
 * Starts a gateway in this process. Several may run side by side, each with a `home` of its own.
 *
 * @throws PolicyRejected when the policy is not valid, with every error at once.
 * @throws HomeInUse when another gateway, here or elsewhere, has this state directory.
 * @throws LaunchError when the configuration that was found may be a sandbox's work.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<SallyportGateway> {
  if (options.sealMemory === true) sealMemory();
  const home = resolve(options.home ?? findHome());
  const source = await PolicySource.find(options.config, { home, cwd: process.cwd() });
  const start = await loadService();
  const gateway = await start({
    ...source.asStartOptions(),
    home,
    log: logOf(options.log),
    guest: true,
    userKeys: options.userKeys === true,
    ...(options.doors !== undefined && { doors: options.doors }),
  });
  const opened = openGateway(gateway, home, source);
  rememberDesk(opened, deskOfGateway(gateway.desk));
  return opened;
}

function openGateway(gateway: Gateway, home: string, source: PolicySource): SallyportGateway {
  const { desk, summary } = gateway;
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= gateway.stop();
    return stopping;
  };
  return {
    doors: summary.doors,
    adminSocket: summary.adminSocket,
    home,
    caPath: summary.caPath,
    warnings: summary.warnings,
    dashboard: () => desk.dashboardAddress(),
    register: (registration) => desk.register(registration),
    unregister: (idOrIp) => desk.unregister(idOrIp),
    renew: (id) => desk.renew(id),
    list: async () => desk.list(),
    setCredential: async (name, value) => desk.setCredential(name, value),
    removeCredential: async (name) => desk.removeCredential(name),
    credentials: () => desk.listCredentials(),
    check: (question) => desk.check(question),
    explain: (sandbox) => desk.explain(sandbox),
    health: () => desk.health(),
    requests: (filter = {}) => recordsOf(desk, filter),
    questions: {
      list: () => desk.questions.list(),
      approvals: () => desk.questions.approvals(),
      preview: (id, scope) => desk.questions.preview(id, scope),
      answer: (id, answer) => desk.questions.answer(id, { ...answer, by: answer.by ?? ownProgram }),
      withdraw: (approvalId) => desk.questions.withdraw(approvalId, ownProgram),
      watch: (signal) => desk.questions.watch(signal),
    },
    async reload(config) {
      if (config === undefined) return gateway.reload();
      const before = source.replace(config);
      try {
        await gateway.reload();
      } catch (error) {
        before();
        throw error;
      }
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
