import { describe, expect, test } from 'vitest';
import { containerShape, type DockerContainer } from '../../../../../src/kit/docker/docker-shapes.ts';
import { settleRegistration, whatChanged } from '../../../../../src/stages/identify/docker/container-facts.ts';
import { LabelError, registrationFromLabels } from '../../../../../src/stages/identify/docker/labelled-containers.ts';
import { makeRecord } from '../../../../../src/stages/identify/registry/make-record.ts';
import { readRegistration } from '../../../../../src/stages/identify/registry/registration.ts';
import type { SandboxRecord } from '../../../../../src/stages/identify/registry/sandbox-record.ts';

const id = 'ab'.repeat(32);
const elsewhere = { addresses: ['172.30.0.2'], hostname: 'somewhere' };

const network = (address: string, six = '', mac = '02:42:ac:1e:00:05') => ({
  NetworkID: 'f'.repeat(64),
  IPAddress: address,
  GlobalIPv6Address: six,
  MacAddress: mac,
});

function container(change: { state?: object; mode?: string; networks?: object } = {}): DockerContainer {
  return containerShape.parse({
    Id: id,
    Name: '/agent',
    State: {
      ...{ Running: true, Paused: false, Restarting: false, Pid: 4711, StartedAt: '2026-01-01T00:00:00Z' },
      ...change.state,
    },
    HostConfig: { NetworkMode: change.mode ?? 'net', Memory: 5 },
    Config: { Env: ['KEY=secret'], Labels: { 'sallyport.repos': 'o/r', other: 'x' } },
    NetworkSettings: { Networks: change.networks ?? { net: network('172.30.0.5', 'fd00::5') } },
  });
}

const asked = (input: object) =>
  readRegistration({ container_id: 'agent', ...input }, { knownCredentials: new Set(), nowMs: 0 });
const settle = (input: object, of = container(), place = elsewhere, policyNetwork: string | null = null) =>
  settleRegistration(asked(input), of, policyNetwork, place);

describe('what Docker says of a container', () => {
  test('is kept only as far as we read it', () => {
    expect(JSON.stringify(container())).not.toMatch(/secret|other|Memory/);
  });

  test('fills a registration in', () => {
    expect(settle({})).toMatchObject({ containerId: id, containerIp: '172.30.0.5', proof: ['ip'], namespacePid: null });
    expect(settle({ container_ip: 'fd00:0::5' }).containerIp).toBe('fd00::5');
  });

  test.each([
    [{}, container({ state: { Restarting: true } }), 'is restarting'],
    [{}, container({ state: { Running: false } }), 'is not running'],
    [{}, container({ state: { Pid: 0 } }), 'is not running'],
    [{}, container({ networks: { net: network('') } }), 'has no address'],
    [{}, container({ networks: {} }), 'is on 0 networks'],
    [{ network: 'constructor' }, container(), 'is not on the network constructor'],
    [{ namespace: { pid: 4711 } }, container(), 'a door in its namespace needs one on none'],
    [{ network: 'net' }, container({ mode: 'none', networks: { none: network('') } }), 'is not on the network net'],
    [{ container_ip: '172.30.0.6' }, container(), 'does not have the address 172.30.0.6'],
  ])('%j is refused: %#', (input, of, reason) => {
    expect(() => settle(input, of)).toThrow(reason);
  });

  test('the gateway is not its own sandbox, by its address or by its name', () => {
    expect(() => settle({}, container(), { addresses: ['172.30.0.5'], hostname: 'x' })).toThrow(
      'is the gateway itself',
    );
    expect(() => settle({}, container(), { addresses: [], hostname: id.slice(0, 12) })).toThrow(
      'is the gateway itself',
    );
  });

  test('the network of the policy counts unless another is asked for', () => {
    const two = container({ networks: { net: network('172.30.0.5'), side: network('172.31.0.5') } });
    expect(() => settle({}, two)).toThrow('is on 2 networks');
    expect(settle({}, two, elsewhere, 'side').containerIp).toBe('172.31.0.5');
    expect(settle({ network: 'net' }, two, elsewhere, 'side').containerIp).toBe('172.30.0.5');
  });
});

describe('a container is what it was, or says what has changed', () => {
  const record = (input: object = {}, of = container()): SandboxRecord =>
    makeRecord(settle(input, of), '/run', Date.now()).record;

  test('nothing', () => {
    expect(whatChanged(record(), container())).toBeNull();
    expect(whatChanged(record({ container_ip: 'fd00::5' }), container())).toBeNull();
    const none = container({ mode: 'none', networks: { none: network('', '', '') } });
    expect(whatChanged(record({}, none), none)).toBeNull();
  });

  test.each([
    [container({ state: { StartedAt: '2026-01-02T00:00:00Z' } }), 'was started anew'],
    [container({ state: { Pid: 4712 } }), 'was started anew'],
    [container({ state: { Paused: true } }), 'is paused'],
    [container({ networks: { net: network('172.30.0.6') } }), 'has another address'],
    [container({ networks: { net: network('172.30.0.5', '', '02:42:ac:1e:00:06') } }), 'has another hardware address'],
    [container({ networks: { other: network('172.30.0.5') } }), 'has left the network net'],
    [{ ...container(), Id: 'cd'.repeat(32) }, 'is another container'],
  ])('%#', (now, change) => {
    expect(whatChanged(record(), now)).toBe(change);
  });

  test('one without a network that is given one', () => {
    const none = container({ mode: 'none', networks: { none: network('', '', '') } });
    const now = container({ mode: 'none', networks: { none: network(''), net: network('172.30.0.5') } });
    expect(whatChanged(record({}, none), now)).toBe('was connected to net');
  });
});

describe('labels say what a registration says', () => {
  const labels = (given: Record<string, string>, name = 'Agent') => registrationFromLabels({ id, name, labels: given });

  test('lists are separated by commas, and an empty one allows nothing', () => {
    expect(labels({ 'sallyport.repos': ' o/a, o/b ,', 'sallyport.credentials': '' })).toEqual({
      id: 'agent',
      container_id: id,
      repos: ['o/a', 'o/b'],
      credentials: [],
    });
  });

  test('an id of its own wins over the name', () => {
    expect(labels({ 'sallyport.id': 'worker' }).id).toBe('worker');
  });

  test.each(['sallyport.proof', 'sallyport.container_ip', 'sallyport.constructor', 'sallyport.', 'sallyport.Repos'])(
    '%s is not one',
    (label) => {
      expect(() => labels({ [label]: 'x' })).toThrow(LabelError);
    },
  );
});
