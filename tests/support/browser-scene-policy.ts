// The policy of the pictures: a configuration as a person would write it, with comments, led to the pretend far side.

export interface FarSide {
  readonly hosts: readonly string[];
  readonly api: string;
  readonly git: string;
  readonly ca: string;
}

export function scenePolicy({ hosts, api, git, ca }: FarSide): string {
  const pins = [...hosts.map((host) => `    ${host}: "${api}"`), `    github.com: "${git}"`];
  return `version: 1

listen:
  proxy: 127.0.0.1:8080
  dashboard: 127.0.0.1:0

allow:
  - preset: anthropic
  - preset: openai
  - preset: github
  - host: packages.example.com
    methods: [GET, HEAD]
  # Money moves here: a person looks first.
  - host: pay.example.com
    ask: true

credentials:
  payments:
    hosts: [pay.example.com]
    inject: { bearer: true }

budgets:
  period: day
  sandbox: { dollars: 25 }

limits:
  gateway: { connections: 4096 }

policy:
  protected_branches: [main]

upstream:
  ca: ${ca}
  resolve:
${pins.join('\n')}
`;
}
