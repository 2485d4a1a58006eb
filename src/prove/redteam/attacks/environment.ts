// Attacks on the environment: what the user's shell holds must not be in any process the sandbox can see.
import type { Attack, AttackFinding, Facts } from '../attack.ts';
import { brief, held, unproven } from '../judge.ts';
import type { Observation } from '../probe.ts';

/** Given to the attacker with `--env`: an environment that shows it was really read. */
export const canaryVariable = 'REDTEAM_CANARY=may be seen';

const canaryIsSeen = (observed: readonly Observation[]): string | null =>
  observed.every(({ text }) => text.includes(canaryVariable)) ? null : brief(observed.map(({ text }) => text).join());

/** That no planted value is in the text, the runner has looked already. */
function judge({ observed, ground }: Facts): AttackFinding {
  if (canaryIsSeen(observed) !== null) return unproven('the environment could not be read');
  const planted = ground.baits.filter(({ path }) => path === null).length;
  return held(`none of ${planted} planted values; the variable that was let in is there`);
}

export const environmentAttacks: readonly Attack[] = [
  {
    name: 'env-own',
    area: 'environment',
    tried: "the user's credential variables in the own environment",
    control: {
      shows: 'a variable given with --env is seen',
      probes: () => [{ do: 'read', path: '/proc/self/environ' }],
      fails: canaryIsSeen,
    },
    attempt: () => [{ do: 'read', path: '/proc/self/environ' }],
    judge,
  },
  {
    name: 'env-every-process',
    area: 'environment',
    tried: 'the environment of every process that can be seen',
    control: {
      shows: "the own process's variable is found by the same search",
      probes: () => [{ do: 'environments' }],
      fails: canaryIsSeen,
    },
    attempt: () => [{ do: 'environments' }],
    judge,
  },
];
