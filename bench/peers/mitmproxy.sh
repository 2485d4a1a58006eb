# mitmproxy, as it comes, and as mitmproxy-stream for bulk and events: without stream_large_bodies it holds bodies whole.
start_contender() {
  local name=$1 port=8101 extra=()
  [[ $name == mitmproxy ]] || { port=8114 extra=(--set stream_large_bodies=1); }
  mkdir -p "$work/mitmproxy-home"
  cp "$work/mitm-bundle.pem" "$work/mitmproxy-home/mitmproxy-ca.pem"
  KEY=$key PYTHONDONTWRITEBYTECODE=1 launch "$name" mitmdump -q --listen-host 127.0.0.1 --listen-port "$port" \
    --set confdir="$work/mitmproxy-home" --set connection_strategy=lazy --set flow_detail=0 \
    --set ssl_verify_upstream_trusted_ca="$work/upca.pem" "${extra[@]}" -s "$bench/peers/mitmproxy_addon.py"
  await_port "$name" "$port"
}
