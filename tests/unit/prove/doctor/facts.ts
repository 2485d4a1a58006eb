// Facts as a judge gets them, made by hand: nothing happened, unless the test says so.
import type { Facts } from '../../../../src/prove/redteam/attack.ts';
import type { Ground } from '../../../../src/prove/redteam/ground.ts';
import type { Observation } from '../../../../src/prove/redteam/probe.ts';

export const bait = 'bait0123456789abcdef0123456789abcdef';

export const ground: Ground = {
  id: 'sbx_attacker',
  ca: '',
  workingDirectory: '/home/me/project',
  home: '/home/me',
  gatewayHome: '/home/me/state',
  gatewayPid: process.pid,
  hostNamespaces: { pid: 'pid:[1]', net: 'net:[1]', mnt: 'mnt:[1]' },
  baits: [{ name: 'credential provider', about: 'the real credential provider', secret: bait, path: null }],
  sockets: { docker: '/home/me/docker.sock', 'ssh-agent': '/home/me/agent.sock' },
  servicePort: 1,
  inwardPort: 2,
  neighbour: { id: 'sbx_neighbour', pid: 1, port: 3, abstractName: 'n', sharedFile: '/dev/shm/n', ca: '' },
  tools: new Set(),
};

export function observation(parts: Partial<Observation>): Observation {
  return { ok: parts.error === undefined, error: null, text: '', exit: null, ...parts };
}

export function facts(parts: Partial<Facts>): Facts {
  const nothing = { observed: [], control: [], seen: [], journal: [], visited: [], journalBreak: null };
  return { ground, ...nothing, refs: { before: '', after: '' }, ...parts };
}

export const seenRequest = {
  method: 'GET',
  host: 'a.example',
  url: '/',
  scheme: 'https',
  headers: {},
  body: '',
} as const;
