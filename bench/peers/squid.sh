# squid with ssl-bump: decrypts, replaces the header, encrypts again. No cache, no log.
# Started by root it becomes the user proxy, who may not enter work/ (0700): its own files are in a directory in /tmp.
start_contender() {
  local dir
  dir=$(mktemp -d /tmp/sallyport-bench-squid.XXXXXX)
  echo "$dir" >"$work/squid.directory"
  {
    echo '127.0.0.1 api.test sink.test git.test'
    for i in $(seq 0 999); do echo "127.0.0.1 h$i.w.test"; done
  } >"$dir/hosts"
  cp "$work/mitm-bundle.pem" "$work/upca.pem" "$dir"
  /usr/lib/squid/security_file_certgen -c -s "$dir/leaves" -M 16MB >/dev/null
  ((UID)) || chown -R proxy "$dir"
  cat >"$dir/squid.conf" <<CONF
http_port 127.0.0.1:8102 ssl-bump tls-cert=$dir/mitm-bundle.pem generate-host-certificates=on dynamic_cert_mem_cache_size=16MB
sslcrtd_program /usr/lib/squid/security_file_certgen -s $dir/leaves -M 16MB
sslcrtd_children 4
acl step1 at_step SslBump1
ssl_bump peek step1
ssl_bump bump all
tls_outgoing_options cafile=$dir/upca.pem
request_header_access x-api-key deny all
request_header_add x-api-key "$key" all
acl ports port 9443 9444 9445
http_access deny !ports
http_access allow localhost
http_access deny all
hosts_file $dir/hosts
pid_filename none
cache deny all
access_log none
cache_log $dir/cache.log
cache_store_log none
coredump_dir $dir
max_filedescriptors $(ulimit -n)
shutdown_lifetime 0 seconds
via off
forwarded_for delete
pconn_timeout 1 hour
server_idle_pconn_timeout 1 hour
client_idle_pconn_timeout 1 hour
memory_pools off
CONF
  launch squid squid -N -f "$dir/squid.conf"
  await_port squid 8102
}

halt_contender() {
  local dir
  halt squid
  dir=$(cat "$work/squid.directory" 2>/dev/null) || return 0
  rm -f "$work/squid.directory"
  [[ $dir == /tmp/sallyport-bench-squid.* ]] && rm -rf "$dir"
}
