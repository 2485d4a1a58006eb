// One planted file for every room rule, and a few that are allowed (`breaks: null`). Written only into a copy of the
// source, by scripts/check-rooms.mjs.

const imports = (...specifiers) => specifiers.map((specifier) => `import '${specifier}';\n`).join('');

const violation = (breaks, file, text) => ({ breaks, file, text });

const stages = ['accept', 'identify', 'authorize', 'inject', 'forward', 'audit'];
const other = (stage) => (stage === 'audit' ? 'accept' : 'audit');
const gatewayRooms = ['admin', 'dashboard', 'approvals', 'inside', 'store', 'workers'];

export const violations = [
  violation('path-imports-nothing', 'src/path/canary-node.ts', imports('node:fs')),
  violation('path-imports-nothing', 'src/path/canary-room.ts', imports('../kit/canary-target.ts')),
  violation('path-imports-nothing', 'src/path/paths.ts', imports('../stages/inject/canary-target.ts')),
  violation('kit-knows-no-room', 'src/kit/canary.ts', imports('../path/refusal.ts')),
  violation('protocols-know-no-room', 'src/protocols/http1/canary.ts', imports('../../kit/canary-target.ts')),
  violation('protocols-know-no-room', 'src/protocols/git/canary.ts', imports('../../path/refusal.ts')),
  violation('protocols-do-no-io', 'src/protocols/git/canary-io.ts', imports('node:fs')),
  violation('protocols-do-no-io', 'src/protocols/http1/canary-io.ts', imports('node:fs/promises')),
  violation(
    'only-the-paths-string-stages',
    'src/gateway/canary-path.ts',
    "import { startWith } from '../path/stage.ts';\nexport const canary = startWith;\n",
  ),
  violation('policy-knows-path-and-kit', 'src/policy/canary.ts', imports('../gateway/admin/canary-target.ts')),
  violation('policy-knows-path-and-kit', 'src/policy/learn/canary.ts', imports('../../stages/audit/canary-target.ts')),
  ...stages.map((stage) =>
    violation(
      `stage-${stage}`,
      `src/stages/${stage}/canary-other-stage.ts`,
      imports(`../${other(stage)}/canary-target.ts`),
    ),
  ),
  // Also a type ties two stages together; a checker that sees only what is left after compiling would miss it.
  violation(
    'stage-accept',
    'src/stages/accept/canary-type-of-other-stage.ts',
    "import type { canary } from '../audit/canary-target.ts';\nexport type Canary = typeof canary;\n",
  ),
  violation(
    'stages-take-only-types-from-policy',
    'src/stages/authorize/canary-policy.ts',
    imports('../../policy/canary-target.ts'),
  ),
  violation(
    'only-inject-holds-secrets',
    'src/stages/forward/canary-secret.ts',
    "import { reveal } from '../../path/secret.ts';\nexport const canary = reveal;\n",
  ),
  violation(
    'only-inject-holds-secrets',
    'src/cli/canary-secret.ts',
    "export const canary = () => import('../path/secret.ts');\n",
  ),
  ...Object.entries({ accepted: 'accept', proven: 'identify', granted: 'authorize' }).map(([stamp, stage]) =>
    violation(
      `only-${stage}-stamps-${stamp}`,
      `src/stages/forward/canary-${stamp}.ts`,
      `import { ${stamp} } from '../../path/stamps/${stamp}.ts';\nexport const canary = ${stamp};\n`,
    ),
  ),
  violation(
    'only-inject-makes-what-goes-out',
    'src/gateway/canary-outgoing.ts',
    "import { OutgoingRequest } from '../path/exchange/outgoing-request.ts';\nexport const canary = OutgoingRequest;\n",
  ),
  ...gatewayRooms.map((room) =>
    violation(
      `gateway-${room}`,
      `src/gateway/${room}/canary.ts`,
      imports('../../stages/identify/canary-target.ts', '../canary-target.ts'),
    ),
  ),
  violation(
    'store-takes-only-limits-from-policy',
    'src/gateway/store/canary-policy.ts',
    imports('../../policy/canary-target.ts'),
  ),
  violation('the-gateway-knows-no-command', 'src/gateway/canary-command.ts', imports('../cli/canary-target.ts')),
  violation(
    'sandbox-is-handed-the-stages',
    'src/sandbox/run/canary.ts',
    imports('../../stages/forward/canary-target.ts'),
  ),
  violation('shim-knows-no-gateway', 'src/sandbox/shim/canary.ts', imports('../../stages/accept/canary-target.ts')),
  violation(
    'shim-knows-no-gateway',
    'src/sandbox/shim/canary-policy.ts',
    "import type { CompiledPolicy } from '../../policy/compiled.ts';\nexport type Canary = CompiledPolicy;\n",
  ),
  violation('firewall-stands-alone', 'src/sandbox/firewall/canary.ts', imports('../shim/canary-target.ts')),
  violation(
    'firewall-takes-only-types-from-policy',
    'src/sandbox/firewall/canary-policy.ts',
    imports('../../policy/canary-target.ts'),
  ),
  violation(
    'nothing-of-a-sandbox-knows-its-shim-or-firewall',
    'src/sandbox/run/canary-shim.ts',
    imports('../shim/canary-target.ts'),
  ),
  violation('cli-talks-to-the-gateway', 'src/cli/canary.ts', imports('../gateway/admin/canary-target.ts')),
  violation('cli-talks-to-the-gateway', 'src/cli/canary-stage.ts', imports('../stages/audit/canary-target.ts')),
  violation('cli-talks-to-the-gateway', 'src/cli/run.ts', imports('../gateway/service.ts')),
  violation('cli-audit-reads-the-journal-and-no-more', 'src/cli/audit.ts', imports('../stages/audit/canary-target.ts')),
  violation('cli-audit-reads-the-journal-and-no-more', 'src/cli/logs.ts', imports('../stages/inject/canary-target.ts')),
  violation('prove-attacks-from-outside', 'src/prove/canary.ts', imports('../stages/inject/canary-target.ts')),
  violation('main-is-the-command-line', 'src/main.ts', imports('./kit/canary-target.ts')),
  violation('index-is-the-library', 'src/index.ts', imports('./cli/canary-target.ts')),
  violation('nothing-imports-the-two-ways-in', 'src/gateway/canary-way-in.ts', imports('../index.ts')),
  violation('nothing-is-above-the-service', 'src/gateway/canary-top.ts', imports('./service.ts')),
  violation('no-cycles', 'src/kit/canary-there.ts', imports('./canary-back.ts')),
  violation('no-cycles', 'src/kit/canary-back.ts', imports('./canary-there.ts')),
  violation('no-test-code-in-the-product', 'src/kit/canary-test.ts', imports('../../scripts/rooms.cjs')),
  violation(
    'no-development-packages-in-the-product',
    'src/stages/forward/canary-development.ts',
    "import { parse } from 'fast-check';\nexport const canary = parse;\n",
  ),
  violation('everything-resolves', 'src/stages/accept/canary-lost.ts', imports('./there-is-no-such-file.ts')),
  violation(
    'one-package-per-file',
    'src/kit/canary-two-packages.ts',
    "import pino from 'pino';\nimport ipaddr from 'ipaddr.js';\nexport const canary = [pino, ipaddr];\n",
  ),

  // What must stay possible.
  violation(
    null,
    'src/stages/forward/canary-type.ts',
    "import type { Secret } from '../../path/secret.ts';\nexport type Canary = Secret;\n",
  ),
  violation(
    null,
    'src/stages/inject/sources/canary-secret.ts',
    "import { reveal } from '../../../path/secret.ts';\nexport const canary = reveal;\n",
  ),
  violation(
    null,
    'src/stages/authorize/canary-type.ts',
    "import type { CompiledPolicy } from '../../policy/compiled.ts';\nexport type Canary = CompiledPolicy;\n",
  ),
  violation(
    null,
    'src/sandbox/firewall/canary-type.ts',
    "import type { CompiledPolicy } from '../../policy/compiled.ts';\nexport type Canary = CompiledPolicy;\n",
  ),
  violation(
    null,
    'src/cli/canary-rooms.ts',
    imports('../sandbox/shim/canary-target.ts', '../sandbox/firewall/canary-target.ts'),
  ),
  violation(
    null,
    'src/gateway/canary-composes.ts',
    imports('../stages/inject/canary-target.ts', './admin/canary-target.ts', '../sandbox/shim/canary-target.ts'),
  ),
  violation(null, 'src/kit/canary-one-package.ts', "import ipaddr from 'ipaddr.js';\nexport const canary = ipaddr;\n"),

  // The rooms that others are caught importing.
  ...[
    'kit',
    'policy',
    'cli',
    'gateway',
    'gateway/admin',
    'sandbox/shim',
    'sandbox/firewall',
    ...stages.map((stage) => `stages/${stage}`),
  ].map((room) => violation(null, `src/${room}/canary-target.ts`, 'export const canary = 1;\n')),
];
