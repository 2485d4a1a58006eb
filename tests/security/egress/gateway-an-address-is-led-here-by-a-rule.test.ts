// Must not happen: a sandbox dials an address of the world, a REDIRECT rule leads the connection to the door, and it passes
// for one to the name it says; or the journal does not know what was dialled.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { addresses, door, type GatewayNetwork, openGatewayNetwork } from '../../support/gateway-network.ts';
import { makeTestCa } from '../../support/test-ca.ts';

const host = 'api.example.com';
const farCa = makeTestCa();
let network: GatewayNetwork;
let id: string;

beforeAll(async () => {
  network = await openGatewayNetwork({
    farCa,
    names: [host],
    document: (upstream) => ({
      allow: [{ host, plain_http: true, ports: [80, 443] }],
      upstream: { resolve: { [host]: upstream }, ca: farCa.path },
    }),
  });
  id = await network.register({ container_ip: addresses.first.v4 });
  await network.register({ container_ip: addresses.first.v6 });
  network.first.configure('ip', '-6', 'route', 'add', 'default', 'via', door.v6);
  const rules = ['tcp dport { 53, 80, 443 } redirect', 'udp dport 53 redirect'];
  network.gateway.configure(
    'nft',
    `add table inet led; add chain inet led here { type nat hook prerouting priority -100; }; ${rules
      .map((rule) => `add rule inet led here iifname sbx0 ${rule};`)
      .join(' ')}`,
  );
});

afterAll(() => network.end());

const record = (destination: string) =>
  eventually(() => network.journal().find((one) => one.destination === destination), `a record of ${destination}`);

describe('a connection that a rule led here is judged by where it was going', () => {
  test.each([
    ['an address of the world', '203.0.113.5', '203.0.113.5:443'],
    ['an IPv6 address of the world', '[2001:db8:99::5]', '[2001:db8:99::5]:443'],
  ])('%s is refused, in words that the client can read', async (_what, literal, destination) => {
    const { stdout, stderr } = await network.curl(network.first, `https://${literal}/`);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ code: 'target.literal-address' });
    expect(await record(destination)).toMatchObject({ verdict: 'refused', code: 'target.literal-address' });
  });

  test.each([
    ['over TLS', 'https', '203.0.113.6', 443],
    ['in the clear', 'http', '203.0.113.7', 80],
    ['at the address the name has in a namespace', 'https', '198.18.7.7', 443],
  ])('an allowed name at an address it does not have here, %s', async (_what, scheme, address, port) => {
    const resolve = `${host}:${port}:${address}`;
    const { stdout } = await network.curl(network.first, '--resolve', resolve, `${scheme}://${host}/led`);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'target.literal-address' });
    expect(await record(`${address}:${port}`)).toMatchObject({ verdict: 'refused' });
    expect(await network.seen()).toEqual([]);
  });

  test('a name that is looked up is reached, whatever resolver the sandbox believes it asks', async () => {
    const run = await network.first.run(
      ['curl', '-sS', '-4', '-m', '30', '--cacert', network.caPath, `https://${host}/named`],
      { resolvConf: network.resolvConf('203.0.113.53') },
    );
    expect(run.stdout).toContain('"url":"/named"');
    expect(await record(`${door.v4}:443`)).toMatchObject({ sandbox: id, verdict: 'allowed', host });
    expect(network.heardOutside()).toBe('');
  });
});
