// The way from the command line to the gateway itself, for the commands that start one. Loaded only when it is asked for:
// every other command stays quick and small.
import type { StartGateway } from './gateway-port.ts';

export async function loadService(): Promise<StartGateway> {
  const { startGateway } = await import('../service.ts');
  return startGateway;
}
