# nginx as TLS reverse proxy that sets the header: no CONNECT, no leaf, no policy. The limit to compare with.
# TLS 1.3 is set explicitly: Debian's default is 1.2 towards upstreams, which is not comparable.
start_contender() {
  cat >"$work/nginx.conf" <<CONF
$( ((UID)) || echo 'user root;')
worker_processes 2;
daemon off;
pid $work/nginx.nginx-pid;
error_log $work/nginx.err;
events { worker_connections 8192; }
http {
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 3600s;
  keepalive_requests 100000000;
  client_max_body_size 0;
  client_body_temp_path $work/tmp-px-body;
  fastcgi_temp_path $work/tmp-px-fcgi;
  proxy_temp_path $work/tmp-px-proxy;
  uwsgi_temp_path $work/tmp-px-uwsgi;
  scgi_temp_path $work/tmp-px-scgi;
  ssl_certificate $work/up.pem;
  ssl_certificate_key $work/up.key;
  ssl_protocols TLSv1.2 TLSv1.3;
  upstream api { server 127.0.0.1:9443; keepalive 1024; keepalive_requests 100000000; keepalive_timeout 3600s; }
  upstream sink { server 127.0.0.1:9444; keepalive 64; }
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host \$http_host;
  proxy_set_header x-api-key $key;
  proxy_ssl_protocols TLSv1.2 TLSv1.3;
  proxy_ssl_verify on;
  proxy_ssl_trusted_certificate $work/upca.pem;
  proxy_ssl_name api.test;
  proxy_ssl_server_name on;
  proxy_ssl_session_reuse on;
  proxy_buffering off;
  proxy_buffer_size 16k;
  proxy_buffers 8 32k;
  proxy_request_buffering off;
  proxy_read_timeout 600s;
  server {
    listen 127.0.0.1:8110 ssl backlog=4096;
    listen 127.0.0.1:8115 ssl http2;
    location / { proxy_pass https://api; }
  }
  server {
    listen 127.0.0.1:8111 ssl;
    location / { proxy_pass https://sink; }
  }
}
CONF
  launch nginx nginx -e "$work/nginx.err" -c "$work/nginx.conf"
  await_port nginx 8110 8111 8115
}
