// Attacks on processes: the gateway's number is told to the attacker, who tries to see, read, stop and trace it.
import { existsSync } from 'node:fs';
import type { Attack, AttackFinding, Facts } from '../attack.ts';
import { held, hole, inWords, stoppedByKernel, succeeds, unproven } from '../judge.ts';
import type { Probe } from '../probe.ts';
import { kernelAttack } from './kernel-attack.ts';

/** The last probe of each: whose number this is inside. A number means nothing in another namespace. */
const whose = (pid: number): Probe => ({ do: 'readlink', path: `/proc/${pid}/ns/pid` });

/** Not there inside, or the number is somebody else's there. */
export function judgeProcess(facts: Facts, pid: number): AttackFinding {
  const { hostNamespaces } = facts.ground;
  if (!existsSync(`/proc/${pid}`)) return unproven(`process ${pid} does not run any more`);
  const owner = facts.observed.at(-1)!;
  const rest = facts.observed.slice(0, -1);
  if (owner.text === hostNamespaces.pid) return hole(`process ${pid} of the host is seen inside`);
  const worked = rest.find(({ error }) => error === null);
  if (owner.error === null) return held(`inside, ${pid} is the number of another process (${owner.text})`);
  if (worked !== undefined) return hole(`it worked: ${inWords(worked)}`);
  return stoppedByKernel(
    { ...facts, observed: rest },
    ['ENOENT', 'ESRCH'],
    `no process ${pid} inside, it runs outside`,
  );
}

const own = (name: string): Probe => ({ do: 'read', path: `/proc/self/${name}` });

function gatewayAttack(name: string, tried: string, probe: (pid: number) => Probe, control: Probe): Attack {
  return {
    name,
    area: 'processes',
    tried,
    control: succeeds('the same of the own process works', () => [control]),
    attempt: ({ gatewayPid }) => [probe(gatewayPid), whose(gatewayPid)],
    judge: (facts) => judgeProcess(facts, facts.ground.gatewayPid),
  };
}

/** PTRACE_SEIZE: unlike an attach it does not stop what it gets hold of. */
const traceGateway = kernelAttack({
  name: 'gateway-ptrace',
  area: 'processes',
  tried: 'tracing the gateway',
  errors: ['ESRCH'],
  because: 'there is no such process inside',
  code: ({ gatewayPid }) => `
import time
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
say('control', libc.ptrace(0x4206, child, 0, 0))
os.kill(child, 9)
say('attempt', libc.ptrace(0x4206, ${gatewayPid}, 0, 0))
`,
});

function judgeTrace(facts: Facts): AttackFinding {
  const owner = facts.observed.at(-1)!;
  const isAnother = owner.error === null && owner.text !== facts.ground.hostNamespaces.pid;
  return isAnother ? held('inside, that is the number of another process') : traceGateway.judge(facts);
}

export const processAttacks: readonly Attack[] = [
  {
    name: 'process-list',
    area: 'processes',
    tried: 'the list of processes of the host',
    control: succeeds('the own processes are listed', () => [{ do: 'list', path: '/proc' }]),
    attempt: () => [
      { do: 'readlink', path: '/proc/self/ns/pid' },
      { do: 'list', path: '/proc' },
    ],
    judge({ observed: [space, list], ground }) {
      if (space?.text === ground.hostNamespaces.pid) return hole('the sandbox has the process namespace of the host');
      if (space?.error !== null || list?.error !== null) return unproven('the namespace cannot be determined');
      const count = list.text.split('\n').filter((name) => /^\d+$/.test(name)).length;
      return held(`a namespace of its own (${space.text}) with ${count} processes`);
    },
  },
  gatewayAttack(
    'gateway-memory',
    "the gateway's memory",
    (pid) => ({ do: 'open', path: `/proc/${pid}/mem`, flags: 'r' }),
    { do: 'open', path: '/proc/self/mem', flags: 'r' },
  ),
  gatewayAttack(
    'gateway-environment',
    "the gateway's environment",
    (pid) => ({ do: 'read', path: `/proc/${pid}/environ` }),
    own('environ'),
  ),
  gatewayAttack(
    'gateway-root',
    "the host's file system through the gateway's root",
    (pid) => ({ do: 'list', path: `/proc/${pid}/root/` }),
    { do: 'list', path: '/proc/self/root/' },
  ),
  gatewayAttack(
    'gateway-descriptors',
    "the gateway's open files and sockets",
    (pid) => ({ do: 'list', path: `/proc/${pid}/fd` }),
    { do: 'list', path: '/proc/self/fd' },
  ),
  gatewayAttack(
    'gateway-signal',
    'ending the gateway with a signal',
    // Signal 0 asks the kernel for the same permission and does no harm where there is a hole.
    (pid) => ({ do: 'signal', pid, signal: 0 }),
    own('stat'),
  ),
  {
    ...traceGateway,
    attempt: (ground) => [...traceGateway.attempt(ground), whose(ground.gatewayPid)],
    judge: judgeTrace,
  },
];
