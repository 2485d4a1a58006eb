# Sourced by ./sallyport and scripts/test: Node is new enough, dependencies are installed, dist/ is built.
# Expects $root. Speaks on standard error only; says nothing when there is nothing to do.
# shellcheck shell=bash

state="$root/.sallyport-build"
# shellcheck source=scripts/node-flags.sh
. "$root/scripts/node-flags.sh"

say() {
  if [ -t 2 ]; then printf 'sallyport: %s\n' "$*" >&2; fi
}

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

dependencies_ready() {
  # npm writes this file last, so an install that was cut off has none.
  local record="$root/node_modules/.package-lock.json"
  [ -f "$record" ] || return 1
  if [ -f "$state/installed" ]; then
    [ "$(cat "$state/installed")" = "$(lockfile_digest)" ]
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

# Runs a command whose words matter only when it fails.
quietly() {
  local log="$state/$1.log"
  shift
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    return 1
  fi
}

install_dependencies() {
  dependencies_ready && return
  command -v npm >/dev/null || fail 'npm is not installed. It comes with Node.js.'
  say 'installing dependencies …'
  rm -f "$state/installed"
  (cd "$root" && quietly install npm ci --no-audit --no-fund) ||
    fail 'the dependencies could not be installed (see above).'
  lockfile_digest >"$state/installed"
}

build() {
  build_ready && return
  say 'building …'
  # Dated before the compiler reads: what is edited meanwhile is newer and is built next time.
  touch "$state/building"
  rm -rf "$state/dist"
  (cd "$root" && quietly build node scripts/build.mjs "$state/dist" --cache) ||
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
