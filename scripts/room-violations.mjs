// One planted file for every room rule, and a few that are allowed (`breaks: null`). Written only into a copy of the
// source, by scripts/check-rooms.mjs.

const imports = (...specifiers) => specifiers.map((specifier) => `import '${specifier}';\n`).join('');

const violation = (breaks, file, text) => ({ breaks, file, text });

const stages = ['accept', 'identify', 'authorize', 'inject', 'forward', 'audit'];
const other = (stage) => (stage === 'audit' ? 'accept' : 'audit');

export const violations = [
  violation('flow-imports-nothing', 'src/flow/canary-node.ts', imports('node:fs')),
  violation('flow-imports-nothing', 'src/flow/canary-room.ts', imports('../kit/canary-target.ts')),
  violation('kit-knows-no-room', 'src/kit/canary.ts', imports('../flow/refusal.ts')),
  violation('http1-knows-no-room', 'src/http1/canary.ts', imports('../kit/canary-target.ts')),
  violation('git-wire-knows-no-room', 'src/git-wire/canary.ts', imports('../flow/refusal.ts')),
  violation('policy-knows-flow-and-kit', 'src/policy/canary.ts', imports('../admin/canary-target.ts')),
  ...stages.map((stage) =>
    violation(`stage-${stage}`, `src/${stage}/canary-other-stage.ts`, imports(`../${other(stage)}/canary-target.ts`)),
  ),
  // Also a type ties two stages together; a checker that sees only what is left after compiling would miss it.
  violation(
    'stage-accept',
    'src/accept/canary-type-of-other-stage.ts',
    "import type { canary } from '../audit/canary-target.ts';\nexport type Canary = typeof canary;\n",
  ),
  violation(
    'stages-take-only-types-from-policy',
    'src/authorize/canary-policy.ts',
    imports('../policy/canary-target.ts'),
  ),
  violation(
    'only-inject-holds-secrets',
    'src/forward/canary-secret.ts',
    "import { reveal } from '../flow/secret.ts';\nexport const canary = reveal;\n",
  ),
  violation(
    'only-inject-holds-secrets',
    'src/cli/canary-secret.ts',
    "export const canary = () => import('../flow/secret.ts');\n",
  ),
  violation('admin-is-handed-the-stages', 'src/admin/canary.ts', imports('../identify/canary-target.ts')),
  violation('launch-is-handed-the-stages', 'src/launch/canary.ts', imports('../forward/canary-target.ts')),
  violation('store-knows-no-stage', 'src/store/canary.ts', imports('../identify/canary-target.ts')),
  violation('workers-are-handed-the-gateway', 'src/workers/canary.ts', imports('../forward/canary-target.ts')),
  violation('approvals-are-handed-the-stages', 'src/approvals/canary.ts', imports('../authorize/canary-target.ts')),
  violation('inside-is-handed-the-stages', 'src/inside/canary.ts', imports('../audit/canary-target.ts')),
  violation('learn-reads-what-happened', 'src/learn/canary.ts', imports('../audit/canary-target.ts')),
  violation('init-looks-and-writes-a-file', 'src/init/canary.ts', imports('../audit/canary-target.ts')),
  violation('shim-knows-no-gateway', 'src/shim/canary.ts', imports('../accept/canary-target.ts')),
  violation(
    'shim-knows-no-gateway',
    'src/shim/canary-policy.ts',
    "import type { CompiledPolicy } from '../policy/compiled.ts';\nexport type Canary = CompiledPolicy;\n",
  ),
  violation('enforce-is-handed-what-it-enforces', 'src/enforce/canary.ts', imports('../admin/canary-target.ts')),
  violation(
    'enforce-takes-only-types-from-policy',
    'src/enforce/canary-policy.ts',
    imports('../policy/canary-target.ts'),
  ),
  violation('cli-talks-to-the-gateway', 'src/cli/canary.ts', imports('../admin/canary-target.ts')),
  violation('cli-talks-to-the-gateway', 'src/cli/canary-stage.ts', imports('../audit/canary-target.ts')),
  violation('cli-audit-reads-the-journal-and-no-more', 'src/cli/audit.ts', imports('../audit/canary-target.ts')),
  violation('cli-audit-reads-the-journal-and-no-more', 'src/cli/logs.ts', imports('../inject/canary-target.ts')),
  violation(
    'one-file-of-cli-starts-the-service-and-no-more',
    'src/gateway/load-service.ts',
    imports('../audit/canary-target.ts'),
  ),
  violation('cli-talks-to-the-gateway', 'src/cli/run.ts', imports('../service.ts')),
  violation('prove-attacks-from-outside', 'src/prove/canary.ts', imports('../inject/canary-target.ts')),
  violation('main-is-the-command-line', 'src/main.ts', imports('./kit/canary-target.ts')),
  violation('the-path-is-only-stages', 'src/path/paths.ts', imports('./admin/canary-target.ts')),
  violation('no-room-reaches-the-top', 'src/accept/canary-top.ts', imports('../request-path.ts')),
  violation('nothing-is-above-the-service', 'src/canary-top.ts', imports('./service.ts')),
  violation('no-cycles', 'src/kit/canary-there.ts', imports('./canary-back.ts')),
  violation('no-cycles', 'src/kit/canary-back.ts', imports('./canary-there.ts')),
  violation('no-test-code-in-the-product', 'src/kit/canary-test.ts', imports('../../scripts/rooms.cjs')),
  violation(
    'no-development-packages-in-the-product',
    'src/forward/canary-development.ts',
    "import { parse } from 'fast-check';\nexport const canary = parse;\n",
  ),
  violation('everything-resolves', 'src/accept/canary-lost.ts', imports('./there-is-no-such-file.ts')),
  violation(
    'one-package-per-file',
    'src/kit/canary-two-packages.ts',
    "import pino from 'pino';\nimport ipaddr from 'ipaddr.js';\nexport const canary = [pino, ipaddr];\n",
  ),

  // What must stay possible.
  violation(
    null,
    'src/forward/canary-type.ts',
    "import type { Secret } from '../flow/secret.ts';\nexport type Canary = Secret;\n",
  ),
  violation(
    null,
    'src/inject/canary-secret.ts',
    "import { reveal } from '../flow/secret.ts';\nexport const canary = reveal;\n",
  ),
  violation(
    null,
    'src/authorize/canary-type.ts',
    "import type { CompiledPolicy } from '../policy/compiled.ts';\nexport type Canary = CompiledPolicy;\n",
  ),
  violation(
    null,
    'src/enforce/canary-type.ts',
    "import type { CompiledPolicy } from '../policy/compiled.ts';\nexport type Canary = CompiledPolicy;\n",
  ),
  violation(null, 'src/cli/canary-rooms.ts', imports('../shim/canary-target.ts', '../enforce/canary-target.ts')),
  violation(null, 'src/kit/canary-one-package.ts', "import ipaddr from 'ipaddr.js';\nexport const canary = ipaddr;\n"),

  // The rooms that others are caught importing.
  ...['kit', 'policy', 'admin', 'shim', 'enforce', ...stages].map((room) =>
    violation(null, `src/${room}/canary-target.ts`, 'export const canary = 1;\n'),
  ),
];
