// Who may import whom: the table of docs/architecture.md as dependency-cruiser rules. A room that is not named in a
// rule's `pathNot` is out of reach. scripts/check-rooms.mjs runs this, and breaks every rule once to see it fail.

const stages = '(accept|identify|authorize|inject|forward|audit)';

/** Everything under src/ but the given places: what a room must not import. */
const allBut = (...places) => ({ path: '^src/', pathNot: places.map((place) => `^src/${place}`) });

/** A rule that holds for imports that are still there when types are gone. */
const asValue = (to) => ({ ...to, dependencyTypesNot: ['type-only'] });

const stageRules = stages
  .slice(1, -1)
  .split('|')
  .map((stage) => ({
    name: `stage-${stage}`,
    comment: 'A stage knows the shared nouns, the kit, the codecs and the shape of the policy; never another stage.',
    severity: 'error',
    from: { path: `^src/stages/${stage}/` },
    to: allBut(`stages/${stage}/`, 'path/', 'kit/', 'protocols/', 'policy/'),
  }));

/** Rooms of the gateway that are handed what they need of the stages, and what else each may know. */
const gatewayRooms = [
  ['admin', 'What may be asked and changed over the admin socket; who answers is handed in.'],
  ['dashboard', 'The dashboard, on top of what the admin API knows.', 'gateway/admin/'],
  ['approvals', 'Who is asked and what was answered; what it means for a request is for the stages to say.'],
  ['inside', 'What a sandbox is told of itself: it can reach nothing that is of another.'],
  ['store', 'What gateways share: it knows no stage.'],
  ['workers', 'How processes start, talk and end; what they serve is handed in.', 'gateway/store/'],
];

module.exports = {
  forbidden: [
    {
      name: 'path-imports-nothing',
      comment: 'The paths and their nouns depend on nothing, not even on Node.',
      severity: 'error',
      from: { path: '^src/path/' },
      to: { pathNot: '^src/path/' },
    },
    {
      name: 'kit-knows-no-room',
      comment: 'The kit knows nothing of proxies: Node and at most one package per file.',
      severity: 'error',
      from: { path: '^src/kit/' },
      to: allBut('kit/'),
    },
    {
      name: 'protocols-know-no-room',
      comment: 'Parsers and writers are pure: Node and at most one package per file.',
      severity: 'error',
      from: { path: '^src/protocols/' },
      to: allBut('protocols/'),
    },
    {
      name: 'protocols-do-no-io',
      comment:
        "What reads and writes the wire is handed bytes; it opens nothing. It loads Node's HTTP/2 for those who do.",
      severity: 'error',
      from: { path: '^src/protocols/' },
      to: asValue({
        path: '^(node:)?(fs|net|tls|http|https|dgram|dns|child_process|cluster|worker_threads|process|os)(/|$)',
      }),
    },
    {
      name: 'only-the-paths-string-stages',
      comment: 'There is one file of paths. Stages know the shape of a stage by its type.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/path/paths[.]ts$' },
      to: asValue({ path: '^src/path/stage[.]ts$' }),
    },
    {
      name: 'policy-knows-path-and-kit',
      severity: 'error',
      from: { path: '^src/policy/' },
      to: allBut('policy/', 'path/', 'kit/'),
    },
    ...stageRules,
    {
      name: 'stages-take-only-types-from-policy',
      comment: 'A stage is handed its policy; it does not load or compile one.',
      severity: 'error',
      from: { path: `^src/stages/${stages}/` },
      to: asValue({ path: '^src/policy/' }),
    },
    {
      name: 'only-inject-holds-secrets',
      comment: 'Whoever imports this file as a value can reveal a credential. Everyone else passes it by type.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/stages/inject/' },
      to: asValue({ path: '^src/path/secret[.]ts$' }),
    },
    ...Object.entries({ accepted: 'accept', proven: 'identify', granted: 'authorize' }).map(([stamp, stage]) => ({
      name: `only-${stage}-stamps-${stamp}`,
      comment:
        'What a stage has found out is stated by that stage. Beside it: the own questions of the gateway, whose paths are in ' +
        'path/paths.ts, and the rehearsal behind `sallyport check`, which forwards nothing and lets the real stage grant.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          `^src/stages/${stage}/`,
          '^src/path/own-questions[.]ts$',
          ...(stamp === 'granted' ? [] : ['^src/gateway/decisions/rehearse[.]ts$']),
        ],
      },
      to: asValue({ path: `^src/path/stamps/${stamp}[.]ts$` }),
    })),
    {
      name: 'only-inject-makes-what-goes-out',
      comment: 'A request with a real credential in it is made where credentials are put in.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/stages/inject/' },
      to: asValue({ path: '^src/path/exchange/outgoing-request[.]ts$' }),
    },
    ...gatewayRooms.map(([room, comment, ...more]) => ({
      name: `gateway-${room}`,
      comment,
      severity: 'error',
      from: { path: `^src/gateway/${room}/` },
      to: allBut(`gateway/${room}/`, 'path/', 'kit/', 'policy/', ...more),
    })),
    {
      name: 'store-takes-only-limits-from-policy',
      comment: 'What gateways share means something to the rooms that put it there, not to the store.',
      severity: 'error',
      from: { path: '^src/gateway/store/' },
      to: { path: '^src/policy/', pathNot: '^src/policy/compiled-limits[.]ts$' },
    },
    {
      name: 'sandbox-is-handed-the-stages',
      severity: 'error',
      from: { path: '^src/sandbox/' },
      to: allBut('sandbox/', 'path/', 'kit/', 'policy/'),
    },
    {
      name: 'shim-knows-no-gateway',
      comment: 'The shim runs beside a sandbox, far from the gateway: it shares neither code nor policy with it.',
      severity: 'error',
      from: { path: '^src/sandbox/shim/' },
      to: allBut('sandbox/shim/', 'path/', 'kit/'),
    },
    {
      name: 'firewall-stands-alone',
      severity: 'error',
      from: { path: '^src/sandbox/firewall/' },
      to: allBut('sandbox/firewall/', 'path/', 'kit/', 'policy/'),
    },
    {
      name: 'firewall-takes-only-types-from-policy',
      severity: 'error',
      from: { path: '^src/sandbox/firewall/' },
      to: asValue({ path: '^src/policy/' }),
    },
    {
      name: 'nothing-of-a-sandbox-knows-its-shim-or-firewall',
      severity: 'error',
      from: { path: '^src/sandbox/', pathNot: '^src/sandbox/(shim|firewall)/' },
      to: { path: '^src/sandbox/(shim|firewall)/' },
    },
    {
      name: 'prove-attacks-from-outside',
      comment: 'What proves the door knows it as a stranger does: by sandboxes, sockets and the answers it gives.',
      severity: 'error',
      from: { path: '^src/prove/' },
      // How a certificate is written is pure; who signs is the pretend world's own matter.
      to: allBut(
        'prove/',
        'path/',
        'kit/',
        'policy/',
        'sandbox/',
        'gateway/admin/admin-ports[.]ts$',
        'stages/accept/tls/certificate[.]ts$',
      ),
    },
    {
      name: 'cli-talks-to-the-gateway',
      comment:
        'Commands ask the running gateway. Exceptions: six files are the ways to start or join one, audit verify reads the ' +
        'journal itself, because a gateway that was tampered with must not vouch for its own journal, and logs reads it ' +
        'where no gateway runs any more.',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: '^src/cli/(audit|logs)[.]ts$' },
      to: allBut(
        'cli/',
        'path/',
        'kit/',
        'policy/',
        'sandbox/',
        'prove/',
        'gateway/admin/(admin-client|admin-ports|every-gateway)[.]ts$',
        'gateway/(contract|load-service|own-gateway|join-gateway|run-gateway)[.]ts$',
        'gateway/sandboxes/sandbox-registrar[.]ts$',
        'gateway/config/trusted-config[.]ts$',
      ),
    },
    {
      name: 'cli-audit-reads-the-journal-and-no-more',
      severity: 'error',
      from: { path: '^src/cli/(audit|logs)[.]ts$' },
      to: allBut(
        'cli/',
        'path/',
        'kit/',
        'policy/',
        'gateway/admin/(admin-client|admin-ports|every-gateway)[.]ts$',
        'stages/audit/journal/(verify|verify-gateway|verify-merged|merge|read-journal)[.]ts$',
      ),
    },
    {
      name: 'the-gateway-knows-no-command',
      comment: 'A contract lives with the one who offers it, not with the one who calls it.',
      severity: 'error',
      from: { path: '^src/gateway/' },
      to: { path: '^src/(cli|prove)/' },
    },
    {
      name: 'main-is-the-command-line',
      severity: 'error',
      from: { path: '^src/main[.]ts$' },
      to: allBut('cli/'),
    },
    {
      name: 'index-is-the-library',
      severity: 'error',
      from: { path: '^src/index[.]ts$' },
      to: allBut('gateway/', 'sandbox/', 'policy/', 'path/', 'kit/'),
    },
    {
      name: 'nothing-imports-the-two-ways-in',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/(index|main)[.]ts$' },
    },
    {
      name: 'nothing-is-above-the-service',
      comment: 'It is started through one file, which loads it only when it is asked for.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/gateway/load-service[.]ts$' },
      to: { path: '^src/gateway/service[.]ts$' },
    },
    {
      name: 'no-cycles',
      comment: 'Types may know each other; code that runs may not wait for itself to load.',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(tests|bench|scripts)/' },
    },
    {
      name: 'no-development-packages-in-the-product',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'everything-resolves', severity: 'error', from: { path: '^src/' }, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    // Sees `import type` too, and tells it apart from an import that stays.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
