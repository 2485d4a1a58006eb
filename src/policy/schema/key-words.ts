// One sentence for every key of the policy document, with an example where the form is not plain: what an editor shows beside
// it. The keys themselves come from the schema; a test finds those that have no sentence here.

/** A sentence, or a sentence and examples. */
export type KeyWords = string | readonly [sentence: string, ...examples: unknown[]];

/** By the place in the document: `[]` is an entry of a list, `*` a name that the user chooses. */
export const keyWords: Readonly<Record<string, KeyWords>> = {
  version: 'The version of this format: always 1.',

  listen:
    'Where sandboxes and people come in; a change needs a restart. A subnet (172.30.0.0/24:8080) means the address that this machine has in it.',
  'listen.proxy': [
    'The explicit HTTP(S) proxy door: an address, or a list of them; left out: 127.0.0.1:8080.',
    '127.0.0.1:8080',
  ],
  'listen.mtls': [
    'The same door for sandboxes that prove themselves by a client certificate; left out: none.',
    '0.0.0.0:8443',
  ],
  'listen.gateway': [
    'The transparent door (DNS, 80, 443 and every port of `allow`) on an address of this machine, or in the subnet it is in.',
    '172.30.0.2',
    '172.30.0.0/24',
  ],
  'listen.dashboard': ['The dashboard, on loopback alone; left out: none.', '127.0.0.1:8642'],
  'listen.workers': 'How many processes serve the doors.',

  allow: 'The allowlist: what is not here is refused. The first entry that covers a request decides.',
  'allow[].preset': ['The name of a preset, which brings its hosts and its credentials.', 'anthropic', 'github'],
  'allow[].host': [
    'A host, or a list: `*.example.com` is every subdomain and never the apex; `*`, with `ask: true`, is every host, for what no other entry covers.',
    'api.example.com',
    '*.example.com',
  ],
  'allow[].methods': ['The methods that may be used; left out: all.', ['GET', 'HEAD']],
  'allow[].paths': [
    'The paths that may be used; `*` stays within a segment, `**` crosses them; left out: all.',
    ['/v1/**'],
  ],
  'allow[].ports': ['The ports that may be used; left out: 443, and 80 with `plain_http`.', [443]],
  'allow[].plain_http': 'Whether plain http is allowed too.',
  'allow[].tunnel': 'Forward undecrypted, for clients with pinned certificates: checked by name alone, no credential.',
  'allow[].conversation':
    'Bodies to it are conversations with a model: they may hold a placeholder, and tokens are counted.',
  'allow[].effects': [
    'What else it allows of a provider: to mint a credential, or to start an agent elsewhere; left out: neither.',
    ['mint-credential'],
  ],
  'allow[].tcp': [
    'Plain TCP to these ports, by the name of the host: limits, address guard and journal hold; nothing in it is read, and no credential goes along. An entry with it has `host` alone beside it.',
    [6379],
  ],
  'allow[].ask': 'A person is asked before a request passes.',

  approvals: 'How long and how many requests wait for a person.',
  'approvals.answer_within_seconds': 'A question that nobody has answered by then is a no.',
  'approvals.held': 'How many requests may wait at once.',
  'approvals.held_per_sandbox': 'How many requests of one sandbox may wait at once.',

  credentials:
    'Credentials by name: where each goes and where its value comes from. A value never stands in this file.',
  'credentials.*': 'A credential: of a preset by the name of the preset, or of your own with `hosts` and `inject`.',
  'credentials.*.hosts': ['The hosts it goes to.', ['api.example.com']],
  'credentials.*.paths': ['The paths it goes to; left out: every path of its hosts.', ['/v1/**']],
  'credentials.*.add_paths': [
    'Of a preset: paths that it goes to beside those of the preset. Its effects stay refused unless `allow` names them.',
    ['/v1/evals/**'],
  ],
  'credentials.*.inject': ['The form in which it goes out: exactly one.', { header: 'x-api-key' }, { bearer: true }],
  'credentials.*.inject.header': ['In this header field.', 'x-api-key'],
  'credentials.*.inject.prefix': ['What stands before it in the header field.', 'Token '],
  'credentials.*.inject.bearer': 'As `Authorization: Bearer VALUE`.',
  'credentials.*.inject.basic': 'As the password of HTTP basic authentication.',
  'credentials.*.inject.basic.username': ['The user name that goes with it.', 'x-access-token'],
  'credentials.*.inject.query': ['As this parameter of the query.', 'key'],
  'credentials.*.inject.path': [
    'In the path, in place of its placeholder: `true` for any segment, or where `{credential}` stands in a pattern.',
    true,
    '/bot{credential}/**',
  ],
  'credentials.*.inject.json': ['In this member of a JSON body, by its JSON pointer.', '/auth/token'],
  'credentials.*.inject.form': ['In this field of a form.', 'client_secret'],
  'credentials.*.inject.hmac': ['The body is signed with it, as senders of webhooks do.', { format: 'slack' }],
  'credentials.*.inject.hmac.format': 'The form of the signature: that of a service, or plain hex or base64.',
  'credentials.*.inject.hmac.header': ['With hex and base64: the header field of the signature.', 'X-Signature'],
  'credentials.*.inject.hmac.algorithm': 'With hex and base64: the hash; left out: sha256.',
  'credentials.*.inject.hmac.prefix': ['With hex and base64: what stands before the signature.', 'sha256='],
  'credentials.*.inject.sigv4': 'The request is signed anew with it (AWS Signature Version 4).',
  'credentials.*.anonymous': 'Whether requests go out without it when it has no value; otherwise they are refused.',
  'credentials.*.companions': [
    'Header fields that are always set beside it.',
    { 'OpenAI-Organization': 'org-example' },
  ],
  'credentials.*.source': [
    'Where its value comes from: exactly one; left out: `sallyport secret set NAME`.',
    { file: '/run/secrets/my-api' },
    { command: ['pass', 'show', 'my-api'] },
  ],
  'credentials.*.placeholder': [
    'Where the sandbox finds a placeholder for it: a variable, a file in its home, or both.',
    { env: 'MY_API_KEY' },
    { file: '~/.my-api/token' },
  ],
  'credentials.*.placeholder.env': ['The variable that holds the placeholder, or a list of them.', 'MY_API_KEY'],
  'credentials.*.placeholder.file': ['The file below the home that holds the placeholder.', '~/.my-api/token'],
  'credentials.*.placeholder.text': [
    'What the file says; `{placeholder}` stands for the placeholder. Left out: the placeholder and the end of the line.',
    'token = "{placeholder}"\n',
  ],
  'credentials.*.placeholder.prefix': ['What the placeholder begins with, for clients that look at it.', 'sk_live_'],
  'credentials.*.client_certificate': 'The client certificate that its hosts are shown (mutual TLS).',
  'credentials.*.client_certificate.cert': [
    'The absolute path of the certificate, with those between it and its CA, in PEM.',
    '/etc/bank/client.pem',
  ],
  'credentials.*.client_certificate.key': [
    'Where its private key comes from; left out: `sallyport secret set NAME`.',
    { file: '/run/secrets/bank-key' },
  ],
  'credentials.*.app': 'A GitHub App, whose tokens are minted for each sandbox.',
  'credentials.*.app.id': ['The App ID or the client ID, as the settings page of the App shows it.', 123456],
  'credentials.*.app.private_key': ['Where the private key of the App comes from.', { file: '/run/secrets/app.pem' }],
  'credentials.*.app.installation': 'The number of the installation; left out: found by repository.',
  'credentials.*.app.permissions': [
    'The permissions of its tokens; left out: what the policy can use.',
    { contents: 'write', pull_requests: 'write' },
  ],

  'source.file': [
    'The absolute path of a file that holds the value and that others cannot read.',
    '/run/secrets/my-api',
  ],
  'source.command': [
    'A program and its arguments that print the value; there is no shell.',
    ['pass', 'show', 'my-api'],
  ],
  'source.ttl_seconds': 'How long the output of the command is kept.',
  'source.pass_env': ['Variables of the gateway that the command gets.', ['VAULT_ADDR']],
  'source.env': ['A variable of the gateway that holds the value; needs `i_accept_environment: true`.', 'MY_API_KEY'],
  'source.i_accept_environment': 'You confirm that you know that /proc shows environment variables.',
  'source.age': 'A file that is encrypted with age, and what opens it.',
  'source.age.file': ['The absolute path of the encrypted file.', '/etc/sallyport/my-api.age'],
  'source.age.identity': 'The age identity that opens it.',
  'source.age.passphrase': 'The passphrase that opens it.',
  'source.keyring': ['What to look for in the keyring of the desktop.', { service: 'my-api', account: 'me' }],
  'source.login': ['The login that an agent of yours keeps: its name, or a map.', 'claude', 'codex'],
  'source.login.agent': 'The agent whose login it is.',
  'source.login.file': 'The absolute path of its file; left out: where the agent keeps it.',
  'source.login.provider': 'Of opencode: the entry of its file.',
  'source.oauth': 'A token endpoint that gives short-lived tokens.',
  'source.oauth.token_url': ['The https address of the token endpoint.', 'https://auth.example.com/token'],
  'source.oauth.grant': 'How a token is asked for.',
  'source.oauth.client_id': 'The client id.',
  'source.oauth.client_secret': 'Where the client secret comes from.',
  'source.oauth.client_auth': 'How the client proves itself: in the Authorization field, in the body, or not at all.',
  'source.oauth.refresh_token': 'Where the refresh token comes from; a file is written back when it changes.',
  'source.oauth.scope': 'The scope to ask for.',
  'source.oauth.parameters': ['More parameters of the request for a token.', { audience: 'https://api.example.com' }],
  'source.oauth.body': 'The form of that request.',
  'source.google_service_account': 'A key of a Google service account, which makes short-lived tokens.',
  'source.google_service_account.key': 'Where the JSON key comes from.',
  'source.google_service_account.scopes': 'The scopes to ask for.',
  'source.google_service_account.subject': 'Whom to act as (domain-wide delegation); left out: the account itself.',
  'source.aws_profile': ['A profile of ~/.aws/credentials: its name, or a map.', 'default'],
  'source.aws_profile.profile': 'The name of the profile.',
  'source.aws_profile.file': 'The absolute path of the file; left out: ~/.aws/credentials.',

  policy: 'What is refused whatever else allows it, and the rules for pushes.',
  'policy.blocked_api_patterns': [
    'Patterns (RE2) for each method, held against the decoded path on every host; what matches is refused.',
    { DELETE: ['^/repos/[^/]+/[^/]+$'] },
  ],
  'policy.protected_branches': ['Branches that nobody pushes to; `*` stays within a segment.', ['main', 'release/*']],
  'policy.allow_force_push': 'Whether a push may rewrite a branch.',
  'policy.allow_branch_deletion': 'Whether a push may delete a branch.',
  'policy.protected_paths': ['Files that no commit of a push may change.', ['.github/workflows/**']],

  github: 'GitHub: further hosts, and what sandboxes may do through its API.',
  'github.hosts': [
    'GitHub Enterprise hosts that are treated as github.com is; they must be in `allow` too.',
    ['ghe.example.com'],
  ],
  'github.effects': 'What may be done beside the default, for each mode of sandboxes.',
  'github.effects.bot': 'For sandboxes that work as a bot.',
  'github.effects.user': 'For sandboxes that work in the name of a person.',
  'github.effects.*.allow': ['Effects that are allowed too.', ['release']],
  'github.effects.*.ask': ['Effects that a person is asked about.', ['merge']],
  'github.effects.*.block': ['Effects that are refused; this wins over the others.', ['issue']],

  git: 'Git on other hosts than GitHub.',
  'git.hosts': [
    'Hosts that serve git, beside those of presets: fetches need the repository, pushes are judged. They must be in `allow` too.',
    ['git.example.com'],
  ],
  'git.public_fetch': 'Whether other repositories may be fetched, without a credential.',

  dns: 'What a sandbox is told of names. No question ever leaves the host.',
  'dns.unknown':
    'In `run`, a name that is not allowed has an address where the client is refused in words (`answer`), or does not exist (`nxdomain`). On a network that sandboxes share it never exists.',
  'run.host_ports': [
    "Ports of the host's loopback that every sandbox finds on its own: 5432, or `5432:15432` for another port inside.",
    [5432],
    [5432, '6379:16379'],
  ],
  docker: 'Docker, where it runs the sandboxes.',
  'docker.socket': 'The absolute path of its socket, or of a view of it (`sallyport docker-view`).',
  'docker.register_labelled': 'Whether containers that carry our labels are registered when they start.',
  'docker.network': [
    'The Docker network on which sandboxes are looked for; left out: the only one a container has.',
    'sandboxes',
  ],

  limits: 'How much may be asked for. At the top: by one sandbox. 0 is no limit, where it is accepted.',
  'limits.credential': 'The same for one credential, whichever sandboxes use it.',
  'limits.gateway': 'The same for all sandboxes together.',
  'limits.requests_per_minute': 'Requests in a minute.',
  'limits.burst': "How many requests may come at once after a quiet time; left out: one minute's worth.",
  'limits.concurrent_requests': 'Requests that are open at the same time, WebSockets and tunnels included.',
  'limits.upload_bytes_per_minute':
    'Bytes in a minute from the sandbox, heads and bodies; past it streams slow down and new requests get 429.',
  'limits.download_bytes_per_minute':
    'Bytes in a minute to the sandbox, heads and bodies; past it streams slow down and new requests get 429.',
  'limits.pushes_per_minute': 'Pushes by git in a minute.',
  'limits.connections':
    'Connections that are open at the same time: of an address, until it is proven which sandbox it is.',
  'limits.connections_per_second': 'New connections in a second.',
  'limits.dns_per_second':
    'DNS questions in a second; past it they are refused, and past 256 refusals and 100 a second not answered.',
  'limits.head_bytes': 'The largest head of a request: its first line and header fields together.',
  'limits.request_body_bytes': 'The largest body of a request.',
  'limits.response_body_bytes': 'The largest answer.',
  'limits.push_bytes': 'The largest push, after decompression.',
  'limits.spool_bytes': 'All pushes that wait on disk to be judged, of all sandboxes.',
  'limits.connect_timeout_ms': 'How long connecting to an upstream may take, TLS included.',
  'limits.client_head_timeout_ms': 'How long a client may take to send one whole head.',
  'limits.headers_timeout_ms': 'How long an upstream may take to begin its answer: a model may think for minutes.',
  'limits.idle_timeout_ms': 'How long a body, a stream or a tunnel may be silent, either way.',
  'limits.request_timeout_ms': 'How long a whole request may take, to the end of its answer.',

  budgets: 'How much may be spent at the providers of models, read from their answers; 0 is no limit.',
  'budgets.period': 'When counting begins anew, by UTC; a week begins on Monday.',
  'budgets.sandbox': 'For one sandbox.',
  'budgets.credential': 'For one credential, whichever sandboxes use it.',
  'budgets.gateway': 'For all sandboxes together.',
  'budgets.*.tokens': 'Tokens in one period.',
  'budgets.*.dollars': 'US dollars in one period.',
  'budgets.prices': [
    'Prices of models in US dollars for a million tokens, before the built-in ones; `*` stands for anything.',
    { 'my-model-*': { input: 1, output: 4 } },
  ],
  'budgets.prices.*': 'The prices of the models with this name.',
  'budgets.prices.*.input': 'For input.',
  'budgets.prices.*.output': 'For output.',
  'budgets.prices.*.cache_read': 'For input out of the cache; left out: as input.',
  'budgets.prices.*.cache_write': 'For input that is put into the cache; left out: as input.',

  store: ['A Redis that several gateways share: its address, or a map.', 'redis://redis.example.com:6379/0'],
  'store.url': ['Its address, never with a password.', 'rediss://redis.example.com:6379/0'],
  'store.password': 'Where its password comes from.',
  'store.ca': ['PEM files with the roots for its certificate.', 'redis-ca.pem'],
  'store.prefix': 'The prefix of every key.',
  'store.grace_seconds': 'How long known sandboxes are served while it is away.',
  'store.shared_addresses': 'You confirm that an address is the same sandbox on every machine.',

  secrets: 'What is done to keep credentials where they belong.',
  'secrets.scrub': 'Whether answers are searched for credentials, which are then masked.',
  'secrets.misplaced':
    'What happens to a request with a credential where it does not belong; `revoke` also unregisters the sandbox.',
  'secrets.conversations': 'Whether a placeholder in a conversation with a model is recorded or refused.',
  'secrets.searched_body_bytes': 'How much of a request body is searched.',
  'secrets.registry_logins':
    'Whether `sallyport run` uses the logins for registries that your package managers and docker keep in your home.',
  'secrets.injected_body_bytes': 'How large a body may be that a credential goes into, or that is signed with one.',

  upstream: 'How the gateway itself reaches the world.',
  'upstream.resolve': [
    'Fixed addresses of hosts or `*.patterns`, like curl --resolve, and the only way to a private address.',
    { 'internal.example.com': '10.0.0.7:8443' },
  ],
  'upstream.ca': ["PEM files with more roots beside the system's, relative to this file.", 'corp-ca.pem'],
  'upstream.proxy': [
    'A proxy to go through: its address, a map with a login, or `system` for what HTTPS_PROXY and NO_PROXY say.',
    'http://proxy.example.com:3128',
    'system',
  ],
  'upstream.proxy.url': ['The address of the proxy, without user name or password.', 'http://proxy.example.com:3128'],
  'upstream.proxy.username': ['The user name for the proxy.', 'gateway'],
  'upstream.proxy.password': ['Where the password for the proxy comes from.', { file: '/run/secrets/proxy' }],
  'upstream.proxy.connect':
    'What it is asked for: the `address` that was resolved and judged here, or the `name`, which it then resolves and nobody judges.',
  'upstream.proxy.except': ['Hosts that are reached without it.', ['intern.example.com']],

  audit: 'The journal.',
  'audit.max_file_bytes': 'How large one file grows before the next is begun.',
  'audit.keep_files': 'How many files are kept.',
  'audit.keep_days': 'No file is removed sooner, however many there are.',
  'audit.max_bytes':
    'The size of all files together. When files that are too young to be removed fill it, nothing is served.',
  'audit.sandbox_bytes_per_day':
    'How much one sandbox may write. Beyond it, its refusals are only counted and its requests get 429. 0 is no limit.',

  run: 'What `sallyport run` is asked for every day. Lists are added to by the command line, everything else gives way to it; `run --no-saved` takes none of it.',
  'run.repos': ['Repositories that it may use, as with `--repo`.', ['owner/repo']],
  'run.mode': 'As with `--mode`: `bot` pushes only to `branches`, `user` to any that is not protected.',
  'run.branches': ['Branches that it may push to, as with `--branch`.', ['sandbox/*']],
  'run.credentials': ['Credentials that it may use, as with `--credential`; left out: all.', ['anthropic']],
  'run.mounts': [
    'Files and folders to read and write, as with `--mount`; a relative one begins at the folder of this file.',
    ['~/data', '../shared:/mnt/shared'],
  ],
  'run.read_only': ['The same to read, as with `--ro`.', ['~/notes']],
  'run.env': ['Variables to let in, as with `--env`.', ['EDITOR', 'NAME=VALUE']],
  'run.home': 'As with `--home`: `fresh`, or `persist` for one that is kept for the project.',
  'run.settings':
    'As with `--settings`: `copy` lays a copy of your own settings of agents, without credentials, into the home.',
  'run.caches': 'As with `--cache`: what package managers find of what was fetched before.',
  'run.caches.npm':
    '`read-only`: a copy of yours, gone with the sandbox; `project`: one that is kept for the project; `none`.',
  'run.caches.pip': 'The same for pip.',
  'run.caches.cargo': 'The same for cargo.',
  'run.caches.go': 'The same for Go modules and builds.',
  'run.hide_env_files': 'As with `--hide-env-files`.',
  'run.git_config': "As with `--git-config`: whether the repository's own git settings can be written.",
  'run.launcher': 'As with `--launcher`: how it is isolated.',
  'run.image': ['As with `--image`: the image of its container.', 'my-tools'],
  'run.ports': ['Ports of the sandbox that this machine has, as with `-p`.', [3000, '8080:3000']],
  'run.memory': ['As with `--memory`: what all its processes may hold.', '4g'],
  'run.cpus': ['As with `--cpus`.', 2],
  'run.pids': ['As with `--pids`: how many processes and threads it may have.', 512],
  'run.time': ['As with `--time`: how long it may run.', '2h'],
  'run.dashboard': 'As with `--dashboard`.',
};
