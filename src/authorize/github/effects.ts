export { defaultEffects, type GithubEffect, githubEffects } from '../../flow/github-effects.ts';
