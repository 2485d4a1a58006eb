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
    from: { path: `^src/${stage}/` },
    to: allBut(`${stage}/`, 'flow/', 'kit/', 'http1/', 'git-wire/', 'policy/'),
  }));

module.exports = {
  forbidden: [
    {
      name: 'flow-imports-nothing',
      comment: 'The nouns depend on nothing, not even on Node.',
      severity: 'error',
      from: { path: '^src/flow/' },
      to: { pathNot: '^src/flow/' },
    },
    {
      name: 'kit-knows-no-room',
      comment: 'The kit knows nothing of proxies: Node and at most one package per file.',
      severity: 'error',
      from: { path: '^src/kit/' },
      to: allBut('kit/'),
    },
    {
      name: 'http1-knows-no-room',
      comment: 'The codec is pure: Node and at most one package per file.',
      severity: 'error',
      from: { path: '^src/http1/' },
      to: allBut('http1/'),
    },
    {
      name: 'git-wire-knows-no-room',
      comment:
        'The parsers are pure: Node and at most one package per file. Bytes that wait are gathered as elsewhere.',
      severity: 'error',
      from: { path: '^src/git-wire/' },
      to: allBut('git-wire/', 'kit/gathered-bytes[.]ts$'),
    },
    {
      name: 'policy-knows-flow-and-kit',
      severity: 'error',
      from: { path: '^src/policy/' },
      to: allBut('policy/', 'flow/', 'kit/'),
    },
    ...stageRules,
    {
      name: 'stages-take-only-types-from-policy',
      comment: 'A stage is handed its policy; it does not load or compile one.',
      severity: 'error',
      from: { path: `^src/${stages}/` },
      to: asValue({ path: '^src/policy/' }),
    },
    {
      name: 'only-inject-holds-secrets',
      comment: 'Whoever imports this file as a value can reveal a credential. Everyone else passes it by type.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/inject/' },
      to: asValue({ path: '^src/flow/secret[.]ts$' }),
    },
    {
      name: 'admin-is-handed-the-stages',
      severity: 'error',
      from: { path: '^src/admin/' },
      to: allBut('admin/', 'flow/', 'kit/', 'policy/'),
    },
    {
      name: 'launch-is-handed-the-stages',
      severity: 'error',
      from: { path: '^src/launch/' },
      to: allBut('launch/', 'flow/', 'kit/', 'policy/'),
    },
    {
      name: 'store-knows-no-stage',
      comment: 'What gateways share means something to the rooms that put it there, not to the store.',
      severity: 'error',
      from: { path: '^src/store/' },
      to: allBut('store/', 'flow/', 'kit/', 'policy/compiled-limits[.]ts$'),
    },
    {
      name: 'workers-are-handed-the-gateway',
      comment: 'How processes start, talk and end; what they serve is handed in.',
      severity: 'error',
      from: { path: '^src/workers/' },
      to: allBut('workers/', 'flow/', 'kit/', 'store/', 'policy/'),
    },
    {
      name: 'approvals-are-handed-the-stages',
      comment: 'Who is asked and what was answered; what it means for a request is for the stages to say.',
      severity: 'error',
      from: { path: '^src/approvals/' },
      to: allBut('approvals/', 'flow/', 'kit/', 'policy/'),
    },
    {
      name: 'inside-is-handed-the-stages',
      comment: 'What a sandbox is told of itself: it can reach nothing that is of another.',
      severity: 'error',
      from: { path: '^src/inside/' },
      to: allBut('inside/', 'flow/', 'kit/', 'policy/'),
    },
    {
      name: 'learn-reads-what-happened',
      severity: 'error',
      from: { path: '^src/learn/' },
      to: allBut('learn/', 'flow/', 'kit/', 'policy/'),
    },
    {
      name: 'init-looks-and-writes-a-file',
      severity: 'error',
      from: { path: '^src/init/' },
      to: allBut('init/', 'flow/', 'kit/', 'policy/'),
    },
    {
      name: 'shim-knows-no-gateway',
      comment: 'The shim runs beside a sandbox, far from the gateway: it shares neither code nor policy with it.',
      severity: 'error',
      from: { path: '^src/shim/' },
      to: allBut('shim/', 'flow/', 'kit/'),
    },
    {
      name: 'enforce-is-handed-what-it-enforces',
      severity: 'error',
      from: { path: '^src/enforce/' },
      to: allBut('enforce/', 'flow/', 'kit/', 'policy/'),
    },
    {
      name: 'enforce-takes-only-types-from-policy',
      severity: 'error',
      from: { path: '^src/enforce/' },
      to: asValue({ path: '^src/policy/' }),
    },
    {
      name: 'prove-attacks-from-outside',
      comment: 'What proves the door knows it as a stranger does: by sandboxes, sockets and the answers it gives.',
      severity: 'error',
      from: { path: '^src/prove/' },
      // How a certificate is written is pure; who signs is the pretend world's own matter.
      to: allBut(
        'prove/',
        'flow/',
        'kit/',
        'policy/',
        'launch/',
        'admin/admin-ports[.]ts$',
        'accept/certificate[.]ts$',
      ),
    },
    {
      name: 'cli-talks-to-the-gateway',
      comment:
        'Commands ask the running gateway. Exceptions: load-service is the one way to start one, audit verify reads the ' +
        'journal itself, because a gateway that was tampered with must not vouch for its own journal, and logs reads it ' +
        'where no gateway runs any more.',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: '^src/cli/(load-service|audit|logs)[.]ts$' },
      to: allBut(
        'cli/',
        'flow/',
        'kit/',
        'policy/',
        'launch/',
        'prove/',
        'shim/',
        'enforce/',
        'learn/',
        'init/',
        'admin/admin-(client|ports)[.]ts$',
      ),
    },
    {
      name: 'cli-audit-reads-the-journal-and-no-more',
      severity: 'error',
      from: { path: '^src/cli/(audit|logs)[.]ts$' },
      to: allBut(
        'cli/',
        'flow/',
        'kit/',
        'policy/',
        'admin/admin-(client|ports)[.]ts$',
        'audit/(verify|verify-merged|merge|read-journal)[.]ts$',
      ),
    },
    {
      name: 'one-file-of-cli-starts-the-service-and-no-more',
      severity: 'error',
      from: { path: '^src/cli/load-service[.]ts$' },
      to: allBut('cli/', 'policy/case-verdict[.]ts$', 'service[.]ts$'),
    },
    {
      name: 'main-is-the-command-line',
      severity: 'error',
      from: { path: '^src/main[.]ts$' },
      to: allBut('cli/'),
    },
    {
      name: 'the-path-is-only-stages',
      comment: 'The list of stages is read at a glance: it starts nothing and knows neither admin nor command line.',
      severity: 'error',
      from: { path: '^src/request-path[.]ts$' },
      to: allBut('flow/', `${stages}/`),
    },
    {
      name: 'no-room-reaches-the-top',
      comment: 'The files beside the rooms put them together. Only the commands that start a gateway reach them.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: '^src/cli/load-service[.]ts$' },
      to: { path: '^src/[^/]+[.]ts$' },
    },
    {
      name: 'nothing-is-above-the-service',
      comment: 'But the library, which is the service for other programs.',
      severity: 'error',
      from: { path: '^src/[^/]+[.]ts$', pathNot: '^src/index[.]ts$' },
      to: { path: '^src/(service|main)[.]ts$' },
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
