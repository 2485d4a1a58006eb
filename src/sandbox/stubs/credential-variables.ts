// Which environment variables hold a credential: by name, and by the shape of the value. Better one too many: what is
// taken for a credential can still be given by another name or as NAME=VALUE.

/** Whole names and prefixes that the words below do not catch. */
const known =
  /^(?:AWS_|AZURE_|GOOGLE_APPLICATION_CREDENTIALS|GCP_|GCLOUD_|ARM_|TF_VAR_|TF_TOKEN_|VAULT_|DOCKER_AUTH|PGPASS|MYSQL_PWD|REDISCLI_AUTH|NETRC|KRB5CCNAME|OP_SESSION|BW_SESSION|COMPOSER_AUTH|BUNDLE_[A-Z0-9_]*__|DATABASE_URL|REDIS_URL|MONGO(?:DB)?_UR[IL]|AMQP_URL|RABBITMQ_URL|SENTRY_DSN|GPG_KEY|SSHPASS|HEROKU_|DIGITALOCEAN_|ANTHROPIC_CUSTOM_HEADERS)/i;

/** Words between underscores, at either end of a name or in the middle of it. */
const words =
  /(?:^|_)(?:API_?KEYS?|ACCESS_?KEYS?|SECRETS?|SECRET_?KEYS?|TOKENS?|PASS|PASSWD|PASSWORDS?|PASSPHRASE|CREDENTIALS?|CREDS?|AUTH|PAT|PRIVATE_?KEYS?|SIGNING_?KEYS?|ENCRYPTION_?KEYS?|CLIENT_?KEYS?|MASTER_?KEYS?|APP_?KEYS?|DEPLOY_?KEYS?|BEARER|COOKIES?|SESSION_?ID|WEBHOOK_?URL|CONNECTION_?STRING|KEY)(?:_|$|\d)|(?:TOKEN|SECRET|PASSWORD|APIKEY|API_KEY|ACCESSKEY)(?:_FILE|_PATH)?$|_?authToken$/i;

/** Words above in a name that is known to hold something else. */
const harmless =
  /^(?:SSH_AUTH_SOCK|XAUTHORITY|DISABLE_.*|.*MAX_.*TOKENS.*|.*_CA_(?:BUNDLE|CERTS?|FILE)|AWS_(?:DEFAULT_)?(?:REGION|OUTPUT)|AWS_PAGER|VAULT_ADDR|(?:GCP|GCLOUD)_PROJECT|GIT_CONFIG_KEY_\d+)$/i;

export function looksLikeCredential(name: string): boolean {
  return !harmless.test(name) && (known.test(name) || words.test(name));
}

/** Keys that tell what they are, and addresses with a password in them. */
const shapes: readonly RegExp[] = [
  /\bsk-(?:ant-|proj-|svcacct-|or-)?[\w-]{16,}/,
  /\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,})/,
  /\b(?:glpat|gldt|glrt)-[\w-]{16,}/,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bAIza[\w-]{30,}/,
  /\bya29\.[\w-]{16,}/,
  /\bxox[abeprs]-[\w-]{8,}/,
  /\b(?:npm_|hf_|dop_v1_|pypi-|rubygems_|sk_live_|rk_live_|shpat_|lin_api_|hvs\.)[\w-]{16,}/,
  /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\./,
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /:\/\/[^/\s:@]*:[^/\s@]+@/,
];

export function looksLikeSecretValue(value: string): boolean {
  return shapes.some((shape) => shape.test(value));
}
