# shellcheck shell=bash
# In front of the markets: haproxy, and for TLS a private CA and a certificate for this machine. Sourced after market.sh.

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

# What one address (IPv6: one /64) may have and do, and the market's kBodyBytesMax.
proxy_connections_max=256
proxy_connections_per_10s_max=2000
proxy_requests_per_10s_max=5000
proxy_body_bytes_max=$(((1 << 20) + (64 << 10)))
proxy_body_seconds_max=${REMOTIST_PROXY_BODY_SECONDS_MAX:-120}

# proxy_problem STATUS CODE RETRYABLE TITLE DETAIL: a refusal by haproxy itself, in the market's form (core/code.cc).
proxy_problem() {
  local retry=''
  [[ $3 == false ]] || retry=' hdr Retry-After 1'
  printf "http-error status %d content-type application/problem+json string '%s' hdr Connection close%s\n" "$1" \
    "{\"type\": \"urn:remotist:problem:$2\", \"title\": \"$4\", \"status\": $1, \"detail\": \"$5\", \"code\": \"$2\", \"retryable\": $3}" "$retry"
}

# proxy_outer_sources: the condition that a connection comes from an outer proxy, named in REMOTIST_TRUSTED_PROXY: addresses and
# networks with blanks or commas between them. One that is everybody is refused: clients could then choose their address.
proxy_outer_sources() {
  local trusted=${REMOTIST_TRUSTED_PROXY:-} sources=() source
  read -ra sources -d '' <<<"${trusted//,/ }" || true
  for source in "${sources[@]}"; do
    [[ $source =~ ^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)(/[0-9]{1,3})?$ ]] ||
      { warn "REMOTIST_TRUSTED_PROXY must be addresses or networks such as 192.0.2.7 or 10.1.0.0/16, not '$source'"; return 1; }
    [[ $source != */0* ]] || { warn "REMOTIST_TRUSTED_PROXY must not be everybody: '$source'"; return 1; }
  done
  if ((${#sources[@]} > 0)); then echo "src ${sources[*]}"; else echo always_false; fi
}

# The market's HTTP parser takes more on trust than it should, so what haproxy and the market could read differently goes no
# further: targets that are no path, lengths beyond the limit (2^64 would pass for 0), Expect, HTTP/2. haproxy answers Expect.
# A connection to the market serves one client, so that whatever a client does to it, it does to nobody else.
# A request for events is held up to 25 s. A WebSocket is silent for at most 10 s, and has a port of its own.
# From an outer proxy the last address of X-Forwarded-For, which it added itself, is the client's, for all limits here and in the
# market; the rest of the header is the client's own word. Its connections are not counted, for they are everybody's.
# Each request goes to the next market. One that cannot be reached or is stopping gets none; one that only has no database
# still does, because it says so itself.
proxy_configure() {
  local bind=127.0.0.1:${port[haproxy]} scheme=http always='' outer
  outer=$(proxy_outer_sources) || return 1
  if [[ -d $state/tls ]]; then
    bind+=" ssl crt \"$state/tls/server.pem\" alpn http/1.1" scheme=https
    always='http-after-response set-header Strict-Transport-Security max-age=31536000'
  fi
  write_file "$state/haproxy.cfg" <<TEXT
global
    maxconn 4096
    lua-load-per-thread "$repo/script/lib/body_deadline.lua" $proxy_body_seconds_max
    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets
    ssl-default-bind-ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305
    ssl-default-bind-ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256

defaults
    mode http
    http-reuse never
    timeout client-hs 15s
    timeout http-request 15s
    timeout http-keep-alive 30s
    timeout client 30s
    timeout client-fin 10s
    timeout connect 5s
    timeout check 2s
    timeout server 60s
    timeout tunnel 5m
    $(proxy_problem 400 malformed_request false "The request could not be read" "the target must be a path")
    $(proxy_problem 403 forbidden false "This caller may not do that" "metrics are shown to the machine of the market itself, and to admins with their token")
    $(proxy_problem 408 request_timeout true "The request took too long to arrive" "a request has 15 s to arrive, and its body may not pause for 30 s")
    $(proxy_problem 413 too_large false "The request is larger than the limit" "a request body may have $proxy_body_bytes_max bytes")
    $(proxy_problem 429 rate_limited true "Too many requests" "an address may send $proxy_requests_per_10s_max requests in 10 s")
    $(proxy_problem 502 commit_in_doubt false "It is not known whether this was done" "the market ended while it worked on this: look whether it was done, or send it again with the same Idempotency-Key")
    $(proxy_problem 504 commit_in_doubt false "It is not known whether this was done" "the market did not answer in time: look whether it was done, or send it again with the same Idempotency-Key")
    $(proxy_problem 503 busy true "The market is busy" "the market cannot be reached: try again in a moment")

frontend clients
    bind $bind
    filter lua.body_deadline
    stick-table type ipv6 size 100k expire 1m store conn_cur,conn_rate(10s),http_req_rate(10s)
    acl from_outer_proxy $outer
    tcp-request connection track-sc0 src,ipmask(32,64) unless from_outer_proxy
    tcp-request connection reject if { sc0_conn_cur gt $proxy_connections_max } || { sc0_conn_rate gt $proxy_connections_per_10s_max }
    http-request set-var(txn.outer) bool(true) if from_outer_proxy
    http-request set-src req.hdr_ip(X-Forwarded-For,-1) if from_outer_proxy
    http-request track-sc0 src,ipmask(32,64) if { var(txn.outer) -m bool }
    http-request deny deny_status 429 if { var(txn.outer) -m bool } { sc0_conn_cur gt $proxy_connections_max }
    http-request deny deny_status 429 if { sc0_http_req_rate gt $proxy_requests_per_10s_max }
    http-request deny deny_status 400 unless { pathq -m beg / }
    http-request deny deny_status 413 if { req.hdr(Content-Length) -m int gt $proxy_body_bytes_max }
    http-request deny deny_status 403 if { path,url_dec -m beg /metrics } !{ req.hdr(Authorization) -m found }
    http-request set-uri %[pathq]
    http-request wait-for-body time 15s
    http-request del-header Expect
    http-request del-header Forwarded
    http-request del-header X-Real-IP
    http-request del-header X-Forwarded- -m beg
    http-request set-header X-Forwarded-For %[src]
    http-request set-header X-Forwarded-Proto $scheme
    $always
    use_backend websocket if { req.hdr(Upgrade) -m found }
    default_backend markets

backend markets
    balance roundrobin
    option redispatch 1
    option httpchk GET /healthz
    http-check expect ! string "stopping"
    default-server check inter 500ms fall 2 rise 1
$(proxy_servers)

backend websocket
    balance roundrobin
    option redispatch 1
    option http-server-close
$(proxy_servers _socket)
TEXT
}

# proxy_servers [_socket]: a line for each market; the list of their sockets follows the checks of the other.
proxy_servers() {
  local part
  for part in "${markets[@]}"; do
    echo "    server $part 127.0.0.1:${port[$part${1:-}]}${1:+ track markets/$part}"
  done
}

proxy_answers() {
  local options=(-s -o /dev/null -w '%{http_code}' --noproxy '*' --max-time 2)
  [[ ! -d $state/tls ]] || options+=(--cacert "$state/tls/ca.crt")
  [[ $(curl "${options[@]}" "$(stack_url)/healthz") == 200 ]]
}

proxy_start() {
  [[ ! -d $state/tls ]] || tls_certify || return 1
  proxy_configure || return 1
  spawn haproxy /usr/sbin/haproxy -db -f "$state/haproxy.cfg"
}
