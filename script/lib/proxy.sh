# shellcheck shell=bash
# TLS in front of the market: a private CA, a certificate for this machine, haproxy. Sourced after ports.sh.

# Makes the CA once. The folder appears when it is complete, and from then on the stack speaks TLS.
tls_create() {
  local folder=$state/tls.new
  [[ ! -d $state/tls ]] || return 0
  rm -rf "$folder"
  mkdir "$folder"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 3650 -subj "/CN=RemotIST private CA $stack_id" \
    -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
    -keyout "$folder/ca.key" -out "$folder/ca.crt" 2>>"$state/log/haproxy.log" || { explain haproxy "has no CA: openssl failed"; return 1; }
  mv "$folder" "$state/tls"
}

# The certificate is made anew in the last month of its year.
tls_certify() {
  local folder=$state/tls
  openssl x509 -checkend $((30 * 86400)) -noout -in "$folder/server.crt" >/dev/null 2>&1 && return
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 365 -subj /CN=localhost \
    -CA "$folder/ca.crt" -CAkey "$folder/ca.key" \
    -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -addext 'basicConstraints=critical,CA:FALSE' \
    -addext 'keyUsage=critical,digitalSignature' -addext 'extendedKeyUsage=serverAuth' \
    -keyout "$folder/server.key" -out "$folder/server.crt" 2>>"$state/log/haproxy.log" || { explain haproxy "has no certificate: openssl failed"; return 1; }
  cat "$folder/server.crt" "$folder/server.key" | write_file "$folder/server.pem"
}

# Requests for events are held up to 25 s, and a volunteer's WebSocket is silent for at most 10 s.
proxy_configure() {
  write_file "$state/tls/haproxy.cfg" <<TEXT
global
    maxconn 4096
    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets
    ssl-default-bind-ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305
    ssl-default-bind-ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256

defaults
    mode http
    timeout connect 5s
    timeout http-request 15s
    timeout http-keep-alive 60s
    timeout client 60s
    timeout server 60s
    timeout tunnel 5m

frontend tls
    bind 127.0.0.1:${port[haproxy]} ssl crt "$state/tls/server.pem" alpn h2,http/1.1
    http-request del-header X-Forwarded-For
    http-request set-header X-Forwarded-Proto https
    option forwardfor
    default_backend market

backend market
    server market 127.0.0.1:${port[market]}
TEXT
}

proxy_answers() {
  [[ $(curl -s -o /dev/null -w '%{http_code}' --noproxy '*' --max-time 2 --cacert "$state/tls/ca.crt" "https://localhost:${port[haproxy]}/healthz") == 200 ]]
}

proxy_start() {
  tls_certify || return 1
  proxy_configure
  spawn haproxy /usr/sbin/haproxy -db -f "$state/tls/haproxy.cfg"
}
