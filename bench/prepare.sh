#!/usr/bin/env bash
# prepare.sh TESTS CONTENDERS: builds the load generator and the goproxy peer, makes certificates and data in work/.
# Keeps what is already there. The certificates are for this benchmark only and end after 30 days.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ./common.sh
tests=,$1, contenders=" $2 "
# What the sizes are in a smoke run is said in sizes.mjs too.
if [[ -z $smoke ]]; then
  body_bytes=268435456 gib_bytes=1G file_bytes=1048576 short_history=1000 long_history=100000
else
  body_bytes=1048576 gib_bytes=4M file_bytes=1024 short_history=100 long_history=200
fi

[[ $work/mb -nt mb.c ]] || cc -O2 -o "$work/mb" mb.c -lssl -lcrypto -lpthread

if [[ $contenders == *" goproxy "* && ! $work/goproxy -nt peers/goproxy/main.go ]]; then
  echo "building the goproxy peer" >&2
  GOPATH=/usr/share/gocode GO111MODULE=off GOCACHE=$work/go-cache go build -o "$work/goproxy" ./peers/goproxy
fi

if [[ $contenders == *" sallyport "* && -z ${SALLYPORT_MAIN:-} ]]; then
  # The bootstrap script installs and builds whatever is missing or out of date.
  [[ ! -x $root/sallyport ]] || "$root/sallyport" --help >/dev/null
fi
[[ $contenders != *" sallyport "* || -f $sallyport_main ]] ||
  fail "$sallyport_main is missing: run npm ci && npm run build, or leave sallyport out with --only"

cd "$work"
umask 077
if ! openssl x509 -in up.pem -noout -checkend 86400 >/dev/null 2>&1; then
  openssl ecparam -name prime256v1 -genkey -noout -out upca.key
  openssl req -x509 -new -key upca.key -days 30 -subj '/CN=bench upstream CA' -out upca.pem
  openssl ecparam -name prime256v1 -genkey -noout -out up.key
  openssl req -new -key up.key -subj '/CN=api.test' -out up.csr
  echo 'subjectAltName=DNS:api.test,DNS:sink.test,DNS:git.test,DNS:*.w.test' >up.ext
  openssl x509 -req -in up.csr -CA upca.pem -CAkey upca.key -CAcreateserial -days 30 -extfile up.ext -out up.pem 2>/dev/null
  cat upca.pem >>up.pem
  # RSA, because it is what squid, mitmproxy and goproxy use by default.
  openssl req -x509 -newkey rsa:2048 -nodes -keyout mitm.key -days 30 -subj '/CN=bench interception CA/O=bench' \
    -addext keyUsage=critical,keyCertSign,cRLSign -out mitm.pem 2>/dev/null
  cat mitm.key mitm.pem >mitm-bundle.pem
fi
cat upca.pem mitm.pem >all-ca.pem

if [[ ! -f www/small.json ]]; then
  mkdir -p www
  head -c "$body_bytes" /dev/urandom >www/big.bin
  truncate -s "$gib_bytes" www/gib.bin # sparse: TLS makes every byte cost the same
  node -e 'console.log(JSON.stringify({ data: "x".repeat(1012) }))' >www/small.json
fi

if [[ $tests == *,clone,* || $tests == *,push,* ]] && [[ ! -d git/r.git ]]; then
  echo "making a git repository of 200 files of $file_bytes bytes" >&2
  rm -rf git/r.git seed
  git init -q seed
  (
    cd seed
    git config user.email bench@example.com && git config user.name bench
    git config core.compression 0 && git config gc.auto 0
    for commit in 1 2 3 4; do
      for i in $(seq 50); do head -c "$file_bytes" /dev/urandom >"f$commit-$i"; done
      git add -A && git commit -qm "$commit"
    done
    git repack -adq
  )
  mkdir -p git
  git clone -q --bare seed git/r.git
  git -C git/r.git config core.compression 0
fi

if [[ $tests == *,push-check,* ]]; then
  mkdir -p git
  for commits in 1000 100000; do
    [[ ! -d git/history-$commits.git ]] || continue
    made=$short_history
    ((commits == 1000)) || made=$long_history
    echo "making a git repository of $made commits" >&2
    rm -rf history-new.git
    git init -q --bare -b main history-new.git
    node "$bench/make-history.mjs" "$made" | git -C history-new.git fast-import --quiet --done
    # As git 2.41 and later leave it; without a reverse index every fetch computes one first (see README.md).
    for pack in history-new.git/objects/pack/*.pack; do git index-pack --rev-index "$pack" >/dev/null; done
    mv history-new.git "git/history-$commits.git"
  done
  if [[ ! -d git/history-100000-plain.git ]]; then
    cp -rl git/history-100000.git history-new.git
    rm -f history-new.git/objects/pack/*.rev
    mv history-new.git git/history-100000-plain.git
  fi
fi
