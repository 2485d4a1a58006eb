import { describe, expect, test } from 'vitest';
import {
  type Container,
  containerOf,
  containersOf,
  type Manifest,
  podOf,
  readManifests,
  readText,
  variants,
} from '../../support/kubernetes-manifests.ts';

const gatewayUid = 10001;
const agentUid = 10002;
const shimUid = 10003;

describe.each(variants)('%s: no container has a right that it does not need', (variant) => {
  const pod = podOf(variant);
  const containers = containersOf(pod);

  test('the pod: no token, no namespace of the node, none shared between its containers, seccomp', () => {
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    for (const flag of ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace'] as const)
      expect(pod[flag] ?? false, flag).toBe(false);
    expect(pod.securityContext.seccompProfile).toEqual({ type: 'RuntimeDefault' });
    for (const { spec, kind, ...account } of readManifests(variant))
      if (kind === 'ServiceAccount') expect(account).toMatchObject({ automountServiceAccountToken: false });
  });

  test.each(containers.map((container): [string, Container] => [container.name, container]))(
    '%s',
    (name, container) => {
      const own = { ...pod.securityContext, ...container.securityContext };
      expect(own).toMatchObject({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true });
      expect(own.privileged ?? false).toBe(false);
      expect(own.capabilities?.drop).toEqual(['ALL']);
      // The one that makes the firewall of the pod, and ends before anybody else begins.
      const enforces = variant === 'sidecar' && name === 'enforce';
      expect(own.capabilities?.add ?? []).toEqual(enforces ? ['NET_ADMIN'] : []);
      expect(own.runAsUser === 0).toBe(enforces);
      if (!enforces) expect(own.runAsNonRoot).toBe(true);
      expect(container.resources?.limits).toHaveProperty('memory');
      // Credentials are files: nothing in the environment looks like one.
      expect((container.env ?? []).map((variable) => variable.name)).toEqual(
        name === 'shim' ? ['SALLYPORT_GATEWAY'] : [],
      );
    },
  );
});

describe('users are kept apart', () => {
  test('the agent has a user of its own, in every variant', () => {
    for (const variant of ['sandbox', 'sidecar'] as const) {
      const others = containersOf(podOf(variant)).filter(({ name }) => name !== 'agent');
      expect(containerOf(variant, 'agent').securityContext).toMatchObject({
        runAsUser: agentUid,
        runAsGroup: agentUid,
      });
      for (const { securityContext } of others) {
        expect(securityContext?.runAsUser).not.toBe(agentUid);
        expect(securityContext?.runAsGroup).not.toBe(agentUid);
      }
      // A group of the pod would be the agent's too.
      expect(podOf(variant).securityContext.fsGroup).toBeUndefined();
    }
  });

  test('the shim serves the user of the agent and nobody else', () => {
    const { args = [], securityContext } = containerOf('sandbox', 'shim');
    expect(args.filter((word) => word.startsWith('--for-uid'))).toEqual([`--for-uid=${agentUid}`]);
    expect(args).toContain('--listen=127.0.0.1:3128');
    expect(securityContext?.runAsUser).toBe(shimUid);
  });

  test('the firewall of the pod lets out the user of the gateway and nobody else', () => {
    const rules = readText('sidecar', 'egress.nft');
    expect([...rules.matchAll(/skuid (?:!= )?(\d+)/g)].map(([, uid]) => Number(uid))).toEqual([gatewayUid, gatewayUid]);
    for (const name of ['prepare', 'gateway', 'register'])
      expect(containerOf('sidecar', name).securityContext?.runAsUser).toBe(gatewayUid);
    expect(podOf('sidecar').initContainers?.[0]?.name).toBe('enforce');
  });
});

describe('files are kept apart', () => {
  const mountsOf = (variant: 'sandbox' | 'sidecar', name: string) => containerOf(variant, name).volumeMounts ?? [];

  test('the agent mounts neither keys nor state nor credentials, and what it is handed it only reads', () => {
    for (const variant of ['sandbox', 'sidecar'] as const) {
      const mounts = mountsOf(variant, 'agent');
      expect(mounts.map(({ name }) => name).sort()).toEqual(['handover', 'home', 'tmp', 'workspace']);
      expect(mounts.find(({ name }) => name === 'handover')).toMatchObject({ readOnly: true });
      // Nothing that the agent can write is read by another.
      const others = containersOf(podOf(variant)).filter(({ name }) => name !== 'agent');
      const theirs = others.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
      for (const { name, readOnly } of mounts) if (readOnly !== true) expect(theirs).not.toContain(name);
    }
  });

  test('a Secret is mounted only where it is copied, and the copies are in memory', () => {
    for (const [variant, secret, reader] of [
      ['gateway', 'credentials', 'prepare'],
      ['sandbox', 'identity', 'identity'],
      ['sidecar', 'credentials', 'prepare'],
    ] as const) {
      const pod = podOf(variant);
      const readers = containersOf(pod).filter(({ volumeMounts = [] }) =>
        volumeMounts.some(({ name }) => name === secret),
      );
      expect(readers.map(({ name }) => name)).toEqual([reader]);
      expect(pod.volumes.find(({ name }) => name === 'memory')).toMatchObject({ emptyDir: { medium: 'Memory' } });
    }
  });

  test('the volume of the gateway is not opened to its group again at every start', () => {
    expect(podOf('gateway').securityContext).toMatchObject({
      fsGroup: gatewayUid,
      fsGroupChangePolicy: 'OnRootMismatch',
    });
  });
});

describe('the node', () => {
  test('what an agent can write is bounded: a full disk would have the kubelet end the pods of others', () => {
    for (const variant of ['sandbox', 'sidecar'] as const) {
      const { resources, volumeMounts = [] } = containerOf(variant, 'agent');
      expect(resources?.limits).toMatchObject({ 'ephemeral-storage': expect.stringMatching(/^\d+Gi$/) });
      // It bounds volumes on the disk of the node: none of those it writes is in memory.
      const written = volumeMounts.filter(({ readOnly }) => readOnly !== true).map(({ name }) => name);
      for (const volume of podOf(variant).volumes.filter(({ name }) => written.includes(name)))
        expect(volume).toEqual({ name: volume.name, emptyDir: {} });
    }
  });
});

describe('the network', () => {
  const policies = (variant: (typeof variants)[number]) =>
    readManifests(variant).filter(({ kind }) => kind === 'NetworkPolicy');
  const specOf = (list: readonly Manifest[], name: string) =>
    list.find(({ metadata }) => metadata.name === name)?.spec as Record<string, unknown> | undefined;

  test.each(variants)('%s: every pod of the namespace is denied everything by default, both ways', (variant) => {
    expect(specOf(policies(variant), 'default-deny')).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });

  test('sandbox pods reach the mTLS door of the gateway and nothing else: no name server, no other port', () => {
    const list = policies('sandbox');
    expect(list.length).toBe(2);
    const gateway = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'sallyport' } },
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'sallyport-gateway' } },
    };
    expect(specOf(list, 'to-the-gateway')?.egress).toEqual([
      { to: [gateway], ports: [{ protocol: 'TCP', port: 8443 }] },
    ]);
    expect(podOf('sandbox')).toMatchObject({ dnsPolicy: 'None', dnsConfig: { nameservers: ['127.0.0.1'] } });
  });

  test('the gateway lets in sandbox pods at its mTLS door and nobody else', () => {
    const spec = specOf(policies('gateway'), 'gateway');
    expect(spec?.ingress).toEqual([
      {
        from: [
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'sallyport-sandboxes' } },
            podSelector: { matchLabels: { 'app.kubernetes.io/component': 'sandbox' } },
          },
        ],
        ports: [{ protocol: 'TCP', port: 8443 }],
      },
    ]);
  });

  // The cluster's own setting is five dots: api.github.com would first be looked for as a Service of the cluster, and whoever
  // may make a namespace `com` could answer.
  test.each(['gateway', 'sidecar'] as const)('%s: a name with a dot is looked up as it is', (variant) => {
    expect(podOf(variant).dnsConfig).toEqual({ options: [{ name: 'ndots', value: '1' }] });
  });

  test('neither a gateway nor a pod with one reaches private addresses, but for the name server', () => {
    for (const [variant, name] of [
      ['gateway', 'gateway'],
      ['sidecar', 'pod-with-a-gateway'],
    ] as const) {
      const egress = specOf(policies(variant), name)?.egress as {
        to: { ipBlock?: { cidr: string; except: string[] } }[];
      }[];
      const blocks = egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock])));
      expect(blocks.map(({ cidr }) => cidr)).toEqual(['0.0.0.0/0', '::/0']);
      expect(blocks[0]!.except).toEqual(
        expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16']),
      );
      expect(blocks[1]!.except).toEqual(expect.arrayContaining(['fc00::/7', 'fe80::/10']));
    }
  });
});
