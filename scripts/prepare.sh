# Sourced by ./sallyport and scripts/test: Node is new enough, dependencies are installed, dist/ is built.
# Expects $root. Speaks on standard error only; says nothing when there is nothing to do.
# shellcheck shell=bash

state="$root/.sallyport-build"

fail() {
  printf 'sallyport: %s\n' "$*" >&2
  exit 1
}

# Nothing has changed since all of it was last found in order, with this very Node: two looks instead of two starts of Node.
ready_before() {
  local found
  found="$(command -v node)" || return 1
  [ "$(cat "$state/ready" 2>/dev/null)" = "$found" ] && [ ! "$state/ready" -ot "$found" ] &&
    [ ! "$state/ready" -ot "$root/package-lock.json" ] && [ ! "$state/ready" -ot "$root/node_modules/.package-lock.json" ] &&
    build_ready
}

note_ready() {
  # In a clone of somebody else's it cannot be written, and is not missed.
  { command -v node >"$state/ready"; } 2>/dev/null || true
}

require_node() {
  command -v node >/dev/null || fail 'Node.js is not installed. Install Node 20.19 or later, then run this again.'
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    fail "Node $(node --version) is too old. Install Node 20.19 or later, then run this again."
}

lockfile_digest() {
  # The digest also names the Node in use: a native dependency belongs to one.
  node -e '
    const { createHash } = require("node:crypto");
    const lock = require("node:fs").readFileSync(process.argv[1]);
    console.log(createHash("sha256").update(lock).digest("hex") + " " + process.versions.modules + " " + process.arch);
  ' "$root/package-lock.json"
}

# $1: everything | what runs. Who has everything has what runs, too.
dependencies_ready() {
  # npm writes this file last, so an install that was cut off has none.
  local record="$root/node_modules/.package-lock.json"
  [ -f "$record" ] || return 1
  if [ -f "$state/installed" ]; then
    case "$(cat "$state/installed")" in
      "$(lockfile_digest) everything") return 0 ;;
      "$(lockfile_digest) what runs") [ "${1:-what runs}" != everything ] ;;
      *) return 1 ;;
    esac
  else
    # Installed by hand with npm.
    [ ! "$record" -ot "$root/package-lock.json" ]
  fi
}

build_ready() {
  # Directories count too: a removed file changes its directory.
  [ -f "$root/dist/main.cjs" ] && [ -f "$state/built" ] &&
    [ -z "$(find "$root/src" "$root/package.json" "$root/scripts/build.mjs" "$root/scripts/main.cjs" "$root/config/presets.yaml" -newer "$state/built" -print -quit)" ]
}

# What the kernel allows, and where a container can be known by.
kernel_settings=/proc/sys
container_marks="/.dockerenv /run/.containerenv /var/run/secrets/kubernetes.io"

kernel_setting() {
  cat "$kernel_settings/${1//.//}" 2>/dev/null || true
}

# The words of src/sandbox/namespace/why-no-namespaces.ts, which cannot run yet: its test holds both to the same.
why_no_namespaces() {
  local said="$1" reason fix sudo='sudo ' setting='' mark where=''
  [ "$(id -u)" != 0 ] || sudo=''
  for mark in $container_marks; do
    [ ! -e "$mark" ] || where='on the host of this container: '
  done
  if [ "$(kernel_setting user.max_user_namespaces)" = 0 ]; then
    reason='user namespaces are off (user.max_user_namespaces is 0)'
    setting=user.max_user_namespaces=15000
  elif [ -n "$sudo" ] && [ "$(kernel_setting kernel.unprivileged_userns_clone)" = 0 ]; then
    reason='user namespaces are for root alone (kernel.unprivileged_userns_clone is 0)'
    setting=kernel.unprivileged_userns_clone=1
  elif [ -n "$sudo" ] && [ "$(kernel_setting kernel.apparmor_restrict_unprivileged_userns)" = 1 ]; then
    reason='AppArmor keeps ordinary users from it (kernel.apparmor_restrict_unprivileged_userns is 1)'
    setting=kernel.apparmor_restrict_unprivileged_userns=0
  elif [[ "$said" == *'No space left on device'* ]]; then
    reason='it makes no more namespaces: those of other sandboxes, containers or browsers use them up, or they are nested too deep'
    fix="end some of them, or raise the limits: ${where}${sudo}sysctl -w user.max_user_namespaces=15000 user.max_net_namespaces=15000"
  elif [[ "$said" == *'Resource temporarily unavailable'* || "$said" == *'Cannot allocate memory'* ]]; then
    reason='it lets you start no more processes, or has no memory for them'
    fix='end some, or raise the limit: ulimit -u, and the limits of processes and memory of the container or service you are in'
  elif [ -n "$where" ]; then
    reason='it is a container, and the way it was started forbids namespaces in it'
    fix='start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run Sallyport outside of it: sallyport run --image IMAGE'
  elif [[ "$said" == *'Invalid argument'* || "$said" == *'Function not implemented'* ]]; then
    reason='its kernel has no user namespaces (CONFIG_USER_NS), or none inside of this one'
    fix='start another kernel, or let Docker make the sandbox: sallyport run --image IMAGE'
  else
    reason="${said:-the kernel did not say why}"
    fix='user, network, process and mount namespaces must be allowed: see sysctl -a | grep -E "userns|_namespaces"'
  fi
  [ -z "$setting" ] || fix="${where}${sudo}sysctl -w $setting (to keep it: echo $setting | ${sudo}tee /etc/sysctl.d/60-sallyport.conf)"
  printf 'this machine does not let you make a sandbox: %s\n%s\n' "$reason" "$fix"
}

# Before the long work: the command that was asked for makes a sandbox here, and this machine must allow one.
require_namespaces() {
  local word said
  case "${1:-}" in run | demo | redteam) ;; *) return 0 ;; esac
  for word in "$@"; do
    case "$word" in
      --) break ;;
      # Docker makes its own; help needs none.
      --image | --image=* | docker | --launcher=docker | -h | --help | --list) return 0 ;;
    esac
  done
  for word in unshare setpriv nsenter; do
    command -v "$word" >/dev/null || PATH="$PATH:/usr/sbin:/sbin" command -v "$word" >/dev/null ||
      give_up "$word is not installed" 'install util-linux, which every distribution has'
  done
  said="$(LC_ALL=C unshare --user --map-root-user --net --pid --fork --mount mount -t proc proc /proc 2>&1)" ||
    give_up "$(why_no_namespaces "$(printf '%s' "$said" | head -n 1)")"
}

# As the command says it, and with its exit code: no sandbox could be started.
give_up() {
  printf '%s\n' "sallyport: $1" "${@:2}" >&2
  exit 125
}

# Runs a command whose words matter only when it fails. On a terminal a line says how far it is.
quietly() {
  local log="$state/$1.log" what="$2" started=$SECONDS job
  shift 2
  "$@" >"$log" 2>&1 </dev/null &
  job=$!
  # What runs in the background of a script does not hear Ctrl-C.
  trap 'kill "$job" 2>/dev/null; exit 130' INT TERM
  if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then
    while kill -0 "$job" 2>/dev/null; do
      printf '\r\033[Ksallyport: %s … %s s' "$what" "$((SECONDS - started))" >&2
      sleep 0.2
    done
    printf '\r\033[K' >&2
  fi
  local ended=0
  wait "$job" || ended=$?
  trap - INT TERM
  if [ "$ended" != 0 ]; then
    cat "$log" >&2
    return 1
  fi
}

# What a user needs, and no test tools: the dependencies and what builds, in exactly the versions of the lock file.
# $1: everything | what runs
install_dependencies() {
  local which="${1:-what runs}" place="$root" count
  dependencies_ready "$which" && return
  command -v npm >/dev/null || fail 'npm is not installed. It comes with Node.js.'
  rm -f "$state/installed"
  if [ "$which" != everything ]; then
    place="$state/install"
    rm -rf "$place"
    mkdir -p "$place"
    cp "$root/.npmrc" "$place"
    count="$(trim_manifests "$place")"
  fi
  (cd "$place" && quietly install "1 of 2: installing ${count:-all} packages" npm ci --ignore-scripts --no-audit --no-fund --prefer-offline) ||
    fail 'the dependencies could not be installed exactly as package-lock.json has them (see above). Is the package registry in reach?'
  if [ "$which" != everything ]; then
    rm -rf "$root/node_modules"
    mv "$place/node_modules" "$root/node_modules"
    rm -rf "$place"
  fi
  printf '%s %s\n' "$(lockfile_digest)" "$which" >"$state/installed"
}

# Copies package.json and its lock without the development dependencies, but for those that build. Prints how many packages
# that are at most: some are for other machines.
trim_manifests() {
  node -e '
    const { readFileSync, writeFileSync } = require("node:fs");
    const [from, to] = process.argv.slice(1);
    const builds = ["esbuild"];
    const read = (name) => JSON.parse(readFileSync(`${from}/${name}`, "utf8"));
    const trim = (manifest) => ({
      ...manifest,
      devDependencies: Object.fromEntries(Object.entries(manifest.devDependencies).filter(([name]) => builds.includes(name))),
    });
    const lock = read("package-lock.json");
    lock.packages[""] = trim(lock.packages[""]);
    writeFileSync(`${to}/package.json`, JSON.stringify(trim(read("package.json"))));
    writeFileSync(`${to}/package-lock.json`, JSON.stringify(lock));
    const needed = Object.values(lock.packages).filter(({ dev, os }) => !dev && !os);
    console.log(needed.length - 1 + 3 * builds.length);
  ' "$root" "$place"
}

build() {
  build_ready && return
  # Dated before the compiler reads: what is edited meanwhile is newer and is built next time.
  touch "$state/building"
  rm -rf "$state/dist"
  (cd "$root" && quietly build '2 of 2: building' node scripts/build.mjs "$state/dist" --cache) ||
    fail 'the build failed (see above).'
  rm -rf "$state/dist.old"
  # Swapped as a whole, so that nobody ever starts half a build.
  if [ -e "$root/dist" ]; then mv "$root/dist" "$state/dist.old"; fi
  # The library is built by `npm run build` alone, and stays as it was built.
  for part in index.js types; do
    if [ -e "$state/dist.old/$part" ]; then mv "$state/dist.old/$part" "$state/dist/$part"; fi
  done
  mv "$state/dist" "$root/dist"
  mv "$state/building" "$state/built"
  rm -rf "$state/dist.old"
}

prepare_all() {
  install_dependencies
  build
}

# One at a time: several first starts at once must not install over each other. The lock ends with this process.
under_lock() {
  mkdir -p "$state" || fail "cannot write to $root: run this once as its owner."
  if command -v flock >/dev/null; then
    (
      flock 9
      "$@"
    ) 9>"$state/lock"
  else
    "$@"
  fi
}
