// The third stage: may this sandbox do this. Holds no rule of its own but the one that needs the handshake of a
// tunnel; every other is in `decide`, which `sallyport check` asks too, and for git, whose bodies say what a request
// does, in `git/`. Opens nothing itself and sees no secret.
import type { Authorized, Identified } from '../flow/flow.ts';
import { learn } from '../flow/learn.ts';
import type { Stage } from '../flow/stage.ts';
import type { CompiledPolicy } from '../policy/compiled.ts';
import { decide } from './decide.ts';
import { authorizeGit, type GitPorts } from './git/authorize-git.ts';
import { authorizeGithub } from './github/authorize-github.ts';
import type { GithubPorts } from './github/github-ports.ts';
import type { SandboxLimits } from './limits.ts';
import { refuseOtherName } from './tunnel-rules.ts';

/** `currentPolicy` is asked for every request, so that a reload holds from the next one on. */
export function createAuthorizeStage(
  currentPolicy: () => CompiledPolicy,
  limits: Pick<SandboxLimits, 'admit'>,
  ports: GitPorts & GithubPorts,
): Stage<Identified, Authorized> {
  return {
    name: 'authorize',
    run(flow) {
      const { canonical, request, sandbox } = flow;
      // Asking for a tunnel or a name is not a request yet: what comes after it is counted.
      if (canonical.kind !== 'connect' && canonical.kind !== 'lookup') flow.trail.release = limits.admit(sandbox);
      const policy = currentPolicy();
      const permission = decide(policy, sandbox, canonical, request.headers);
      if (canonical.kind === 'tunnel') refuseOtherName(canonical, request.sni, request.hiddenName);
      if (permission.git !== null) return authorizeGit(flow, permission, policy, ports);
      if (permission.github !== null) return authorizeGithub(flow, permission, policy, ports);
      return learn(flow, { permission });
    },
  };
}
