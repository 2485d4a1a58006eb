import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { root } from '../../support/compose-images.ts';

interface Service {
  readonly [key: string]: unknown;
  readonly volumes?: readonly (string | { readonly source: string; readonly read_only?: boolean })[];
  readonly networks?: readonly string[];
}

interface Composition {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, Record<string, unknown>>>;
}

const read = (name: string): Composition => parse(readFileSync(`${root}/${name}`, 'utf8')) as Composition;
const whole = read('docker-compose.yml');
const override = read('docker-compose.override.example.yml');

const mounts = (service: Service, what: string): boolean =>
  (service.volumes ?? []).some((volume) =>
    typeof volume === 'string' ? volume.startsWith(`${what}:`) : volume.source === what,
  );
const thatMount = ({ services }: Composition, what: string): string[] =>
  Object.keys(services).filter((name) => mounts(services[name]!, what));

describe.each([
  ['docker-compose.yml', whole, 'sandbox', 'sandbox'],
  ['docker-compose.override.example.yml', override, 'app', 'default'],
] as const)('%s', (_file, composition, sandbox, network) => {
  const { services, networks } = composition;

  test.each(Object.keys(services))('%s publishes no port and has no capability', (name) => {
    const service = services[name]!;
    expect(service).not.toHaveProperty('ports');
    expect(service).not.toHaveProperty('privileged');
    expect(service).toMatchObject({ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    expect(JSON.stringify(service)).not.toContain('ipv4_address');
  });

  test("Docker's socket is the witness's alone, which has no network; its view is for the gateway alone", () => {
    expect(thatMount(composition, '${SALLYPORT_DOCKER_SOCKET')).toEqual(['witness']);
    expect(JSON.stringify(services).match(/:\/var\/run\/docker\.sock/g)).toHaveLength(1);
    expect(services.witness).toMatchObject({ network_mode: 'none', read_only: true });
    expect(thatMount(composition, 'witness')).toEqual(['witness', 'gateway']);
    expect(thatMount(composition, 'state')).toEqual(['gateway']);
  });

  test('the sandbox reads what the gateway hands over, waits for its health, and is on the internal network alone', () => {
    const { volumes, depends_on, dns, networks: joined } = services[sandbox]!;
    const handover = { type: 'volume', source: 'handover', target: '/etc/sallyport', read_only: true };
    expect(volumes).toContainEqual({ ...handover, volume: { nocopy: true } });
    expect(depends_on).toEqual({ gateway: { condition: 'service_healthy' } });
    expect(String(dns)).toContain(':-192.0.2.53}');
    expect(joined ?? ['default']).toEqual([network]);
    expect(networks[network]).toMatchObject({
      internal: true,
      driver_opts: { 'com.docker.network.bridge.inhibit_ipv4': 'true' },
    });
  });

  test('no credential is in an environment, and the gateway would not start with one', () => {
    expect(services.gateway).not.toHaveProperty('environment');
    expect(services.gateway!.command).toContain('--refuse-credential-variables');
  });
});

describe('the override for existing projects', () => {
  // Guards: a project is mounted where an agent works, and a changed configuration takes hold within a second.
  test('takes no configuration from the project: its folder must be named', () => {
    const ofGateway = override.services.gateway!.volumes!.map(String);
    expect(ofGateway.find((volume) => volume.includes(':/etc/sallyport'))).toMatch(
      /^\$\{SALLYPORT_CONFIG_DIR:\?[^}]+\}:\/etc\/sallyport:ro$/,
    );
    expect(ofGateway.filter((volume) => volume.startsWith('.'))).toEqual([]);
  });

  test('has the same witness and the same gateway', () => {
    const bare = ({ build: _build, networks: _networks, volumes: _volumes, ...rest }: Service): Service => rest;
    for (const name of ['witness', 'gateway']) {
      expect(bare(override.services[name]!)).toEqual(bare(whole.services[name]!));
    }
  });
});
