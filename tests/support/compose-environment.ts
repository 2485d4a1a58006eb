// What docker/sandbox.env has to say, made from the same sources as the environment of a sandbox of `sallyport run`.

import { publishedNames, publishedPlace } from '../../src/gateway/sandboxes/published-trust.ts';
import { quietAgents } from '../../src/sandbox/stubs/agent-stubs.ts';
import { placeholderVariables } from '../../src/sandbox/stubs/placeholders.ts';
import { sandboxGitEnvironment } from '../../src/sandbox/stubs/sandbox-gitconfig.ts';
import { trustVariables } from '../../src/sandbox/trust/trust-variables.ts';

/** By the heading under which the file has them. */
export function expectedSandboxEnvironment(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const { bundle, certificate, git } = publishedNames;
  const proxy = 'http://gateway:8080';
  return {
    'The door. curl reads http_proxy in lower case only, others upper case only.': {
      HTTPS_PROXY: proxy,
      HTTP_PROXY: proxy,
      https_proxy: proxy,
      http_proxy: proxy,
      NODE_USE_ENV_PROXY: '1',
    },
    "The gateway's CA: each family of clients reads a variable of its own.": trustVariables({
      bundle: `${publishedPlace}/${bundle}`,
      certificate: `${publishedPlace}/${certificate}`,
    }),
    'Git stays tame whatever a repository says, and ssh URLs go through the door.': sandboxGitEnvironment({
      directory: `${publishedPlace}/${git}`,
    }),
    'Agents do not look for updates, which they could not install.': quietAgents,
    'Placeholders: no key. The gateway puts the real ones in; take out what has none.': placeholderVariables(
      new Set(['anthropic', 'openai', 'google', 'github']),
    ),
  };
}
