# The upstream of every contender: nginx on 9443 (HTTP/1.1), 9445 (HTTP/2) and /g/ (git), mb's sink on 9444.
# Whether the injected x-api-key arrived it says as X-Seen-Key, in other words: an echo of it Sallyport would mask. Of git requests it notes how long each took.
start_contender() {
  local git_location=''
  # Filters as hosting services have them; no housekeeping while something is measured.
  [[ ! -d $work/git ]] || printf '[uploadpack]\n\tallowFilter = true\n[http]\n\treceivepack = true\n[receive]\n\tautogc = false\n' >"$work/.gitconfig"
  launch sink "$work/mb" sink port=9444 cert="$work/up.pem" key="$work/up.key" inject="$key"
  if [[ -n $smoke ]] && ! { command -v nginx && command -v fcgiwrap; } >/dev/null; then
    KEY=$key launch upstream node "$bench/peers/upstream.mjs"
    await_port upstream 9443 9445
    await_port sink 9444
    return
  fi
  if [[ -d $work/git && -x $(command -v fcgiwrap) ]]; then
    rm -f "$work/fcgi.sock"
    launch fcgi fcgiwrap -c 4 -s "unix:$work/fcgi.sock"
    git_location="location /g/ {
      access_log $work/git-access.log git;
      include /etc/nginx/fastcgi_params;
      rewrite ^/g(/.*)\$ \$1 break;
      fastcgi_pass unix:$work/fcgi.sock;
      fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param GIT_PROJECT_ROOT $work/git;
      fastcgi_param REMOTE_USER bench;
      fastcgi_param HOME $work;
      fastcgi_param PATH_INFO \$uri;
      fastcgi_request_buffering off;
      fastcgi_buffering off;
      fastcgi_read_timeout 600s;
    }"
  fi
  cat >"$work/upstream.conf" <<CONF
$( ((UID)) || echo 'user root;')
worker_processes 2;
daemon off;
pid $work/upstream.nginx-pid;
error_log $work/upstream.err;
events { worker_connections 8192; }
http {
  access_log off;
  map_hash_bucket_size 512;
  map \$http_x_api_key \$seen_key { '$key' key-arrived; default wrong; }
  log_format git '\$request_time \$connection \$request';
  sendfile on;
  tcp_nodelay on;
  keepalive_timeout 3600s;
  keepalive_requests 100000000;
  open_file_cache max=100;
  default_type application/json;
  client_max_body_size 0;
  client_body_temp_path $work/tmp-up-body;
  fastcgi_temp_path $work/tmp-up-fcgi;
  proxy_temp_path $work/tmp-up-proxy;
  uwsgi_temp_path $work/tmp-up-uwsgi;
  scgi_temp_path $work/tmp-up-scgi;
  ssl_certificate $work/up.pem;
  ssl_certificate_key $work/up.key;
  ssl_protocols TLSv1.2 TLSv1.3;
  server {
    listen 127.0.0.1:9443 ssl backlog=4096;
    listen 127.0.0.1:9445 ssl http2 backlog=4096;
    root $work/www;
    location / { add_header X-Seen-Key \$seen_key; }
    $git_location
  }
}
CONF
  launch upstream nginx -e "$work/upstream.err" -c "$work/upstream.conf"
  await_port upstream 9443 9445
  await_port sink 9444
}

halt_contender() {
  halt upstream
  halt sink
  halt fcgi
}
