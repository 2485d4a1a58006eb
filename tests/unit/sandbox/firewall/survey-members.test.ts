import { describe, expect, test, vi } from 'vitest';
import { DockerError } from '../../../../src/kit/docker/docker-error.ts';
import type { DockerContainer } from '../../../../src/kit/docker/docker-shapes.ts';
import { surveyMembers } from '../../../../src/sandbox/firewall/survey-members.ts';

// Which port leads to which process, as the kernel would say it.
vi.mock('../../../../src/sandbox/firewall/bridge-ports.ts', () => ({
  listBridgePorts: async () => [{ name: 'vethgw' }, { name: 'veth1' }, { name: 'veth2' }],
  portOfProcess: async (pid: number) => ({ 1: 'vethgw', 11: 'veth1', 12: 'veth2' })[pid] ?? null,
}));

const id = '0123456789ab'.padEnd(64, '0');
const network = {
  bridge: 'br-0123456789ab',
  gateway: { v4: '192.0.2.2', v6: null, at: { port: 'vethgw', mac: '02:00:00:00:00:02' } },
};

function container(Pid: number): DockerContainer {
  const endpoint = {
    NetworkID: id,
    IPAddress: `192.0.2.${Pid}`,
    GlobalIPv6Address: '',
    MacAddress: `02:00:00:00:00:${Pid}`,
  };
  return {
    State: { Running: true, Paused: false, Pid },
    NetworkSettings: { Networks: { sandboxes: endpoint } },
  } as unknown as DockerContainer;
}

const registered = (...pids: number[]) =>
  pids.map((pid) => ({ id: `s${pid}`, container_ip: `192.0.2.${pid}`, container_id: String(pid) }));
const docker = (inspectContainer: (name: string) => DockerContainer) => ({
  inspectContainer: async (name: string) => inspectContainer(name),
  inspectNetwork: () => Promise.reject(new Error('not asked for')),
});

describe('who is on the network', () => {
  const all = docker((pid) => container(Number(pid)));

  test('registered containers, where the kernel says they are plugged in', async () => {
    const { members, notes } = await surveyMembers(network, [], registered(11, 12), all);
    expect(members.pins.map(({ address, port }) => [address, port])).toEqual([
      ['192.0.2.11', 'veth1'],
      ['192.0.2.12', 'veth2'],
    ]);
    expect(notes).toEqual([]);
  });

  test('one that stands where the gateway is has no pin, and takes away nobody else’s', async () => {
    const { members, notes } = await surveyMembers(network, [], registered(1, 11), all);
    expect(members.pins.map(({ address }) => address)).toEqual(['192.0.2.11']);
    expect(notes).toEqual(['s1: nothing of it passes: its container is at the port of the gateway']);
  });

  test('one that Docker does not know has none', async () => {
    const forgets = docker((pid) => {
      if (pid === '12') throw new DockerError('unknown', 'No such container: 12', '');
      return container(Number(pid));
    });
    const { members, notes } = await surveyMembers(network, [], registered(11, 12), forgets);
    expect(members.pins).toHaveLength(1);
    expect(notes).toEqual(['s12: nothing of it passes: No such container: 12']);
  });

  test.each(['absent', 'slow', 'failed'] as const)('while Docker is %s, nothing is concluded', async (fault) => {
    const silent = docker(() => {
      throw new DockerError(fault, 'Docker does not answer', '');
    });
    await expect(surveyMembers(network, [], registered(11), silent)).rejects.toThrow('Docker does not answer');
  });
});
