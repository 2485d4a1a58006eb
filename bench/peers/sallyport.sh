# Sallyport as an operator runs it: a configuration, a credential in a 0600 file, one registered sandbox (this machine's
# 127.0.0.1), journal on. Nothing is switched off; only the limits meant for one agent are raised out of the way.
start_contender() {
  local home=$work/sallyport-home tries
  rm -rf "$home"
  mkdir -m 700 "$home"
  (umask 077 && printf '%s\n' "$key" >"$work/sallyport.key")
  cat >"$work/sallyport.yaml" <<CONF
version: 1
audit: { sandbox_bytes_per_day: 0 }
listen:
  proxy: 127.0.0.1:8120
allow:
  - { host: api.test, ports: [9443, 9444, 9445] }
  - { host: sink.test, ports: [9443, 9444, 9445] }
  - { host: git.test, ports: [9443, 9444, 9445] }
  - { host: "*.w.test", ports: [9443, 9444, 9445] }
credentials:
  bench:
    hosts: [api.test, sink.test, git.test, "*.w.test"]
    inject: { header: x-api-key }
    source: { file: "$work/sallyport.key" }
git:
  hosts: [git.test]
limits:
  requests_per_minute: 60000000
  concurrent_requests: 10000
  connections: 10000
  connections_per_second: 0
  pushes_per_minute: 0
  gateway: { connections_per_second: 0 }
upstream:
  resolve: { api.test: 127.0.0.1, sink.test: 127.0.0.1, git.test: 127.0.0.1, "*.w.test": 127.0.0.1 }
  ca: upca.pem
CONF
  export SALLYPORT_HOME=$home
  launch sallyport node "$sallyport_main" up --config "$work/sallyport.yaml"
  await_port sallyport 8120
  for ((tries = 1; ; tries++)); do
    node "$sallyport_main" register --ip 127.0.0.1 --repo 'g/*' --mode user >"$work/register.log" 2>&1 && break
    ((tries < 5)) || fail "sallyport register: $(tail -n 5 "$work/register.log")"
    sleep 0.5
  done
  node "$sallyport_main" ca export >"$work/sallyport-ca.pem"
  openssl x509 -in "$work/sallyport-ca.pem" -noout || fail "sallyport ca export gave no certificate"
  cat "$work/upca.pem" "$work/mitm.pem" "$work/sallyport-ca.pem" >"$work/all-ca.pem"
}
