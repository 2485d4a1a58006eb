// The way from the command line to the gateway itself, for the commands that start one. Loaded only when it is asked for:
// every other command stays quick and small.
import type { JudgeCase } from '../policy/cases/case-verdict.ts';
import type { LookAtCredentials } from './config/look-at-credentials.ts';
import type { StartGateway } from './contract.ts';

/** A process that `up` has started beside itself. Resolves when it has ended in order. */
export async function loadWorker(): Promise<() => Promise<void>> {
  const { startWorker } = await import('./service.ts');
  return startWorker;
}

export async function loadService(): Promise<StartGateway> {
  const { startGateway } = await import('./service.ts');
  return startGateway;
}

/** What decides at the door, without a gateway: for the cases of `policy test`. */
export async function loadJudge(): Promise<JudgeCase> {
  const { judgeCase } = await import('./service.ts');
  return judgeCase;
}

/** What a gateway would say of the credentials of a policy, for commands that need none to run. */
export async function loadCredentialLook(): Promise<LookAtCredentials> {
  const { lookAtCredentials } = await import('./service.ts');
  return lookAtCredentials;
}
