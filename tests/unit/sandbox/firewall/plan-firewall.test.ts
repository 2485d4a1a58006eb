import { describe, expect, test } from 'vitest';
import type { DockerNetwork } from '../../../../src/kit/docker/docker-shapes.ts';
import type { AllowRule, ListenSettings } from '../../../../src/policy/compiled.ts';
import { findBridge, planFirewall } from '../../../../src/sandbox/firewall/plan-firewall.ts';

const network = (more: Partial<DockerNetwork>): DockerNetwork => ({
  Id: `0123456789ab${'0'.repeat(52)}`,
  Name: 'sandboxes',
  Driver: 'bridge',
  Internal: true,
  EnableIPv6: false,
  IPAM: { Config: [] },
  Options: {},
  ...more,
});
const docker = (more: Partial<DockerNetwork> = {}) => ({
  inspectNetwork: async () => network(more),
  inspectContainer: () => Promise.reject(new Error('not asked for')),
});
const gateway = ['192.0.2.2=02:00:00:00:00:02@vethgw'];
const plan = (listen: Partial<ListenSettings>, more = {}) =>
  planFirewall(
    { bridge: 'br0', gateway, ...more },
    {
      docker: docker(),
      policy: {
        listen: { proxy: [], mtls: [], gateway: [], dashboard: null, workers: 1, ...listen },
        allow: [{ ports: [443, 8443] } as unknown as AllowRule],
      },
      seesBridge: false,
    },
  );

describe('the ports that a firewall leaves open are those that the gateway has', () => {
  test('a transparent door has DNS, the web and the ports of the policy', async () => {
    const { tcpPorts, udpPorts } = await plan({ gateway: ['192.0.2.0/24'] });
    expect(new Set(tcpPorts)).toEqual(new Set([53, 80, 443, 8443]));
    expect(udpPorts).toEqual([53]);
  });

  test('a proxy counts where it listens at that address, in its subnet or everywhere', async () => {
    for (const host of ['192.0.2.2', '192.0.2.0/24', '0.0.0.0']) {
      expect((await plan({ proxy: [{ host, port: 8080 }] })).tcpPorts).toEqual([8080]);
    }
    expect((await plan({ mtls: [{ host: '192.0.2.2', port: 8443 }] })).udpPorts).toEqual([]);
  });

  test('a door elsewhere opens nothing here: another service may be on that port', async () => {
    for (const host of ['127.0.0.1', 'localhost', '192.0.2.3', '::1', '198.51.100.0/24']) {
      expect((await plan({ proxy: [{ host, port: 8080 }], gateway: ['192.0.2.3'] })).tcpPorts, host).toEqual([]);
    }
  });

  test('ports that are named stand in for those of the configuration', async () => {
    const { tcpPorts, udpPorts } = await plan({ gateway: ['192.0.2.2'] }, { port: [8080] });
    expect([tcpPorts, udpPorts]).toEqual([[8080], []]);
  });

  test('a redirect leads to the transparent door alone, never to the proxy', async () => {
    const { redirect } = await plan(
      { gateway: ['192.0.2.2'], proxy: [{ host: '192.0.2.2', port: 8080 }] },
      { redirect: true },
    );
    expect(redirect?.tcpPorts).not.toContain(8080);
    expect(redirect?.tcpPorts).toContain(443);
    await expect(plan({ proxy: [{ host: '192.0.2.2', port: 8080 }] }, { redirect: true })).rejects.toThrow(
      'no transparent door',
    );
  });
});

describe('the bridge of a network', () => {
  test('has the name that Docker gave it, or that it was told', async () => {
    expect(await findBridge({ network: 'sandboxes' }, docker())).toBe('br-0123456789ab');
    const named = docker({ Options: { 'com.docker.network.bridge.name': 'agents0' } });
    expect(await findBridge({ network: 'sandboxes' }, named)).toBe('agents0');
  });

  test('is not guessed', async () => {
    await expect(findBridge({ network: 'sandboxes' }, docker({ Driver: 'macvlan' }))).rejects.toThrow('has no bridge');
    await expect(findBridge({}, docker())).rejects.toThrow('which network?');
    await expect(findBridge({ network: 'a', bridge: 'b' }, docker())).rejects.toThrow('which network?');
  });

  test('a gateway is at one place', async () => {
    await expect(plan({}, { gateway: [...gateway, '2001:db8::2=02:00:00:00:00:03@vethgw'] })).rejects.toThrow(
      'one MAC',
    );
    await expect(plan({}, { gatewayContainer: 'gateway' })).rejects.toThrow('named twice');
  });
});
