# Shared by run, prepare.sh and contender: where things are, and how a process is started, awaited and stopped.
# It never signals a process it did not start: a pid file holds the pid and its start time, and both must match.
# shellcheck shell=bash disable=SC2034
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$bench")
# --smoke works in a folder of its own, so that it leaves certificates, data and figures of a real run alone.
work=${SALLYPORT_BENCH_WORK:-$bench/work}
smoke=${SALLYPORT_BENCH_WORK:+yes}
# As long as real keys are (108 characters): what searching for a key costs depends on it.
key=bench-not-a-key-4OGLAopMnvCyVFYR7lIViLLY2tcoTGHRjtuRxxcJdJ8VL5utpHNqZKmJh0s6PvvVlMhPpqVrVEOxuVP25FrtMaqzHbeO
goproxy_source=/usr/share/gocode/src/github.com/elazarl/goproxy
sallyport_main=${SALLYPORT_MAIN:-$root/dist/main.cjs}
PATH=$PATH:/usr/sbin:/sbin
unset NODE_OPTIONS http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
# 1,000 tunnels are 2,000 descriptors in a proxy; squid sizes its tables by this limit, so it is not set to the maximum.
ulimit -n 16384 2>/dev/null || ulimit -n "$(ulimit -Hn)"

fail() {
  echo "bench: $*" >&2
  exit 1
}

# Field 22 of /proc/PID/stat; the name in field 2 may hold spaces, so count after the last ')'.
started_at() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

state_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1; }

# launch NAME COMMAND…: in a session of its own, so that its process group is itself and its children.
launch() {
  local name=$1 pid
  shift
  setsid "$@" </dev/null >"$work/$name.log" 2>&1 8>&- 9>&- & # 8 and 9 are locks
  pid=$!
  echo "$pid $(started_at "$pid")" >"$work/$name.pid"
}

# await_port NAME PORT…: until it listens, or fail with its log.
await_port() {
  local name=$1 port pid tries
  shift
  read -r pid _ <"$work/$name.pid"
  for port in "$@"; do
    for ((tries = 0; ; tries++)); do
      [[ -n $(started_at "$pid") && $(state_of "$pid") != Z && $tries -lt 200 ]] ||
        fail "$name did not start on port $port: $(tail -n 5 "$work/$name.log")"
      (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
      sleep 0.1
    done
  done
  # Somebody else's listener would answer as well: ours must still be alive.
  sleep 0.2
  [[ $(state_of "$pid") =~ ^[RSD]$ ]] || fail "$name ended: $(tail -n 5 "$work/$name.log")"
}

# halt NAME: TERM to its group, KILL after five seconds.
halt() {
  local file=$work/$1.pid pid since tries
  [[ -f $file ]] || return 0
  read -r pid since <"$file" || true
  rm -f "$file"
  [[ -n ${since:-} && $(started_at "$pid") == "$since" ]] || return 0
  kill -TERM -- "-$pid" 2>/dev/null || return 0
  for ((tries = 0; tries < 50; tries++)); do
    [[ $(state_of "$pid") =~ ^[^Z]$ ]] || break
    sleep 0.1
  done
  kill -KILL -- "-$pid" 2>/dev/null || true
}
