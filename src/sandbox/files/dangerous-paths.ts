// The blocklist, as data: places on a host that are never let into a sandbox. A missing place is a leak; a harmless place in
// the list costs little, because its user can name it another way.

export interface DangerRule {
  /** What lives there, for the user. */
  readonly rule: string;
  /** `~/` is every known home, `$NAME` the place a variable names; `*` in the last name stands for anything. */
  readonly paths: readonly string[];
  /** Places inside that are harmless, such as programs. */
  readonly except?: readonly string[];
}

/** Whole parts of the host: never a source, never inside, and nothing to mask in them. */
export const dangerousPlaces: readonly DangerRule[] = [
  { rule: 'the processes of the host', paths: ['/proc'] },
  { rule: "the host's kernel and devices", paths: ['/sys', '/dev'] },
  { rule: "the sockets and state of the host's services", paths: ['/run', '/var/run'] },
  { rule: 'the boot files of the host', paths: ['/boot', '/efi', '/lost+found'] },
];

export const dangerousThings: readonly DangerRule[] = [
  {
    rule: 'a container runtime',
    paths: words(`
      /var/run/docker.sock /run/docker.sock /run/podman /run/containerd /run/crio /run/buildkit
      /run/user/*/docker.sock /var/lib/docker /var/lib/containerd /var/lib/containers ~/.docker/run
      ~/.docker/desktop ~/.colima ~/.lima ~/.rd ~/.orbstack ~/.local/share/containers ~/.local/share/docker
      $DOCKER_HOST $CONTAINER_HOST $BUILDKIT_HOST $CONTAINERD_ADDRESS
    `),
  },
  {
    rule: "the sockets of the user's session",
    paths: ['$XDG_RUNTIME_DIR', '$DBUS_SESSION_BUS_ADDRESS', '$XAUTHORITY', '~/.Xauthority'],
  },
  { rule: 'ssh keys and agents', paths: ['~/.ssh', '$SSH_AUTH_SOCK', '~/.1password', '~/.pki'] },
  { rule: 'gpg keys and agents', paths: ['~/.gnupg', '$GNUPGHOME', '$GPG_AGENT_INFO'] },
  {
    rule: 'cloud credentials',
    paths: words(`
      ~/.aws $AWS_SHARED_CREDENTIALS_FILE $AWS_CONFIG_FILE ~/.azure $AZURE_CONFIG_DIR ~/.config/gcloud
      $CLOUDSDK_CONFIG $GOOGLE_APPLICATION_CREDENTIALS ~/.boto ~/.gsutil ~/.s3cfg ~/.oci ~/.bluemix
      ~/.config/doctl ~/.config/hcloud ~/.config/scw ~/.config/linode-cli ~/.config/rclone ~/.rclone.conf
      ~/.terraform.d ~/.terraformrc ~/.pulumi ~/.vault-token $VAULT_TOKEN_PATH ~/.consul* ~/.nomad* ~/.fly
      ~/.config/heroku ~/.config/netlify ~/.config/.wrangler ~/.wrangler ~/.config/configstore
      ~/.local/share/com.vercel.cli ~/.vercel ~/.config/op ~/.databrickscfg ~/.snowflake ~/.snowsql
      ~/.config/sops ~/.config/age ~/.age ~/.sops ~/.kaggle ~/.huggingface ~/.cache/huggingface/token
      ~/.config/ngrok ~/.ngrok2 ~/.cloudflared ~/.config/tailscale ~/.step ~/.minikube ~/.mc
    `),
    except: ['~/.fly/bin', '~/.pulumi/bin'],
  },
  {
    rule: 'cluster credentials',
    paths: words(`
      ~/.kube $KUBECONFIG ~/.config/helm ~/.helm ~/.config/argocd ~/.talos
    `),
  },
  {
    rule: 'registry logins of containers',
    paths: words(`
      ~/.docker/config.json ~/.docker/contexts ~/.dockercfg $DOCKER_CONFIG ~/.config/containers/auth.json
    `),
  },
  {
    rule: 'logins of curl and ftp',
    paths: words(`
      ~/.netrc ~/_netrc $NETRC ~/.curlrc ~/.wgetrc ~/.authinfo*
    `),
  },
  {
    rule: 'logins of package managers',
    paths: words(`
      ~/.npmrc $NPM_CONFIG_USERCONFIG $npm_config_userconfig ~/.config/npm ~/.yarnrc ~/.yarnrc.yml ~/.bunfig.toml
      ~/.config/pnpm ~/.pypirc ~/.config/pip ~/.pip $PIP_CONFIG_FILE ~/.config/uv ~/.local/share/uv/credentials
      ~/.config/pypoetry ~/.condarc ~/.cargo/credentials* ~/.cargo/config* ~/.gem/credentials
      ~/.local/share/gem/credentials ~/.bundle/config ~/.m2/settings*.xml ~/.gradle/gradle.properties
      ~/.gradle/init.d ~/.sbt ~/.ivy2/.credentials ~/.composer/auth.json ~/.config/composer/auth.json
      ~/.nuget/NuGet ~/.config/NuGet ~/.hex ~/.cabal/config ~/.config/go/env ~/.conan*/credentials*
    `),
  },
  {
    rule: 'logins of GitHub, GitLab and git',
    paths: words(`
      ~/.config/gh $GH_CONFIG_DIR ~/.config/hub ~/.config/glab-cli ~/.config/tea ~/.config/github-copilot
      ~/.git-credentials ~/.config/git/credentials ~/.git-credential-cache ~/.cache/git/credential ~/.gitcookies
    `),
  },
  {
    rule: "an agent's own login",
    paths: words(`
      ~/.claude ~/.claude.json* ~/.config/claude* ~/.config/Claude $CLAUDE_CONFIG_DIR ~/.codex $CODEX_HOME
      ~/.gemini ~/.local/share/opencode ~/.config/opencode ~/.local/state/opencode ~/.aider* ~/.continue
      ~/.cursor ~/.config/cursor ~/.copilot ~/.config/copilot ~/.qwen ~/.amp ~/.config/amp ~/.goose
      ~/.config/goose ~/.config/crush ~/.local/share/crush ~/.codeium ~/.windsurf ~/.config/io.datasette.llm
      ~/.kimi ~/.factory ~/.grok ~/.config/openai ~/.openai ~/.anthropic ~/.config/anthropic
    `),
    // An older installer of claude puts the program itself there.
    except: ['~/.claude/local'],
  },
  {
    rule: 'keyrings and password stores',
    paths: words(`
      ~/.local/share/keyrings ~/.gnome2/keyrings ~/.local/share/kwalletd ~/.kde*/share/apps/kwallet
      ~/.password-store $PASSWORD_STORE_DIR ~/.config/1Password ~/.config/Bitwarden* ~/.config/keepassxc
      ~/.config/gopass ~/.local/share/gopass ~/.config/rbw ~/.local/share/rbw ~/.config/lastpass ~/.lpass
      ~/.foundry/keystores ~/.ethereum ~/.bitcoin ~/.electrum ~/.config/solana ~/.local/share/python_keyring
    `),
  },
  {
    rule: 'profiles of browsers, mail and chat',
    paths: words(`
      ~/.mozilla ~/.thunderbird ~/.librewolf ~/.waterfox ~/.zen ~/.tor-browser ~/.config/google-chrome*
      ~/.config/chromium* ~/.config/BraveSoftware ~/.config/microsoft-edge* ~/.config/vivaldi* ~/.config/opera*
      ~/.config/mozilla ~/snap ~/.var/app ~/.config/Slack ~/.config/discord* ~/.config/Signal* ~/.config/Element
      ~/.local/share/TelegramDesktop ~/.config/evolution ~/.local/share/evolution ~/.config/Code*
      ~/.config/VSCodium ~/.config/Cursor ~/.config/JetBrains ~/.config/zed ~/.msmtprc ~/.mbsyncrc ~/.muttrc
    `),
  },
  {
    rule: 'logins of databases and services',
    paths: words(`
      ~/.pgpass $PGPASSFILE ~/.pg_service.conf ~/.my.cnf ~/.mylogin.cnf ~/.mongorc.js ~/.config/mongodb
      ~/.rediscli* ~/.config/sentry* ~/.sentryclirc ~/.jfrog ~/.config/jira* ~/.config/stripe ~/.config/twilio*
      ~/.smbcredentials ~/.davfs2 ~/.config/ssh* ~/.krb5* $KRB5CCNAME ~/.config/environment.d
    `),
  },
  {
    rule: 'histories, which hold what was once typed',
    paths: words(`
      ~/.*_history ~/.histfile ~/.zsh_sessions ~/.local/share/fish/fish_history ~/.lesshst ~/.viminfo
      ~/.local/share/atuin ~/.config/atuin $HISTFILE ~/.local/state/*/history ~/.local/share/*/history
    `),
  },
  {
    rule: 'the state and configuration of Sallyport',
    paths: words(`
      $SALLYPORT_HOME ~/.local/state/sallyport ~/.config/sallyport $SALLYPORT_CONFIG
    `),
  },
  {
    rule: 'passwords and keys of the host',
    paths: words(`
      /etc/shadow* /etc/gshadow* /etc/security/opasswd /etc/sudoers /etc/sudoers.d /etc/doas.conf
      /etc/ssh/ssh_host_* /etc/ssl/private /etc/pki/tls/private /etc/letsencrypt /etc/krb5.keytab /etc/wireguard
      /etc/openvpn /etc/ipsec.* /etc/NetworkManager/system-connections /etc/wpa_supplicant /etc/ppp
      /etc/credstore* /etc/kubernetes /etc/rancher /etc/vault* /etc/docker/key.json /etc/msmtprc /var/lib/kubelet
      /var/lib/rancher /var/lib/sss /var/lib/samba/private /var/lib/tailscale /var/lib/cloud /var/backups
      /var/spool/cron /var/spool/mail /var/mail /var/lib/systemd/coredump /var/crash /var/lib/private
    `),
  },
];

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
