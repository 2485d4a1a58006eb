// Attacks on sockets that are not network: the gateway's own, container runtimes, agents that hold keys; and the admin API by
// way of the door.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Attack, AttackFinding, Facts } from '../attack.ts';
import { httpRequest, plainProxy } from '../http-text.ts';
import { answered, hole, refusedInWords, succeeds, unlessVisited } from '../judge.ts';
import type { Probe } from '../probe.ts';
import { plainHost } from '../redteam-hosts.ts';
import { hiddenInside } from './files.ts';

const ownSocket = succeeds('a Unix socket of its own works', () => [{ do: 'listen-unix', path: '/tmp/redteam.sock' }]);

const runtimes = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/containerd/containerd.sock',
  '/run/podman/podman.sock',
];
const onThisMachine = (): string[] => runtimes.filter((path) => existsSync(path));

/** `live`: somebody listens there outside, as we know; the first of what was tried. */
function outOfReach(facts: Facts, live: readonly string[], others: readonly string[] = []): AttackFinding {
  return unlessVisited(facts, () => {
    if (facts.observed.some(({ error }) => error === null)) return hole('it was reached');
    // Where it was masked there is a file, and nobody listens on that.
    const observed = facts.observed.map((one, i) =>
      one.error === 'ECONNREFUSED' && i < live.length ? { ...one, error: 'ENOENT' } : one,
    );
    return hiddenInside({ ...facts, observed }, [...live, ...others]);
  });
}

const visit = (path: string): Probe => ({ do: 'unix', path });

export const socketAttacks: readonly Attack[] = [
  {
    name: 'socket-admin',
    area: 'sockets',
    tried: "the gateway's admin socket",
    control: ownSocket,
    attempt: ({ gatewayHome }) => [visit(join(gatewayHome, 'run/admin.sock'))],
    judge: (facts) => outOfReach(facts, [join(facts.ground.gatewayHome, 'run/admin.sock')]),
  },
  {
    name: 'socket-docker',
    area: 'sockets',
    tried: 'sockets of container runtimes: a planted one, and those of this machine',
    control: ownSocket,
    attempt: ({ sockets }) => [sockets.docker, ...onThisMachine()].map(visit),
    judge: (facts) => outOfReach(facts, [facts.ground.sockets.docker], onThisMachine()),
  },
  {
    name: 'socket-ssh-agent',
    area: 'sockets',
    tried: 'the ssh agent that holds the keys, by its path and by a link in the working directory',
    control: ownSocket,
    attempt: ({ sockets, workingDirectory }) => [
      visit(sockets['ssh-agent']),
      { do: 'symlink', path: join(workingDirectory, 'made-link.sock'), to: sockets['ssh-agent'] },
      visit(join(workingDirectory, 'made-link.sock')),
      { do: 'remove', path: join(workingDirectory, 'made-link.sock') },
    ],
    judge(facts) {
      const path = facts.ground.sockets['ssh-agent'];
      const visits = facts.observed.filter((_, i) => i % 2 === 0);
      return outOfReach({ ...facts, observed: visits }, [path, path]);
    },
  },
  {
    name: 'admin-by-the-door',
    area: 'sockets',
    tried: "the admin API through the sandbox's own door",
    control: answered('the proxy answers for an allowed host', () => [
      { do: 'send', way: plainProxy, text: httpRequest(plainHost, `http://${plainHost}/`) },
    ]),
    attempt: () => [
      { do: 'send', way: plainProxy, text: httpRequest('sallyport', '/internal/containers') },
      { do: 'send', way: plainProxy, text: httpRequest('sallyport', 'http://sallyport/internal/health') },
      {
        do: 'send',
        way: { host: '203.0.113.5', port: 80 },
        text: httpRequest('sallyport', '/internal/credentials/github', { method: 'DELETE' }),
      },
    ],
    judge: (facts) => refusedInWords(facts, /^(?:domain\.|address\.|target\.|malformed\.|mismatch\.)/),
  },
];
