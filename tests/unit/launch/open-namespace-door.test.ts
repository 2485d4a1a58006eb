import { afterAll, expect, test } from 'vitest';
import { openNamespaceDoor, closeNamespaceHandles } from '../../../src/launch/open-namespace-door.ts';
import { makeNamespace } from '../../support/namespace.ts';
test('x', async () => {
  const ns = await makeNamespace();
  for (let i=0;i<3;i++){
  const t = performance.now();
  const handles = await openNamespaceDoor({ pid: ns.pid, ports: [443, 80, 8443] });
  console.log('ms', performance.now() - t, [...handles.tcp.keys()], handles.dnsUdp.address());
  if(i<2) closeNamespaceHandles(handles);
  }
  await expect(openNamespaceDoor({ pid: ns.pid, ports: [443, 80, 8443] })).rejects.toThrow('taken');
  await expect(openNamespaceDoor({ pid: process.pid, ports: [443, 80, 8443] })).rejects.toThrow('own');
  await ns.end();
});
