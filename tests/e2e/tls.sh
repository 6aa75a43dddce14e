#!/usr/bin/env bash
# Behind TLS the market works as without it, is found only under its own name, receives no request that it could misread, and
# knows its clients' addresses, also behind an outer proxy, which here is whoever connects from 127.0.0.9.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

export REMOTIST_MARKET_REGISTRATIONS_PER_ADDRESS_HOUR_MAX=1000 REMOTIST_TRUSTED_PROXY=198.51.100.200/32,127.0.0.9
new_state stack
for everybody in 0.0.0.0/0 ::/0 0.0.0.0/00 market.example 192.0.2.1/a '192.0.2.1 }'; do
  ! REMOTIST_TRUSTED_PROXY=$everybody script/up --state "$state" --tls >"$scratch/out" 2>&1 || fail "REMOTIST_TRUSTED_PROXY=$everybody was taken"
  grep -q 'REMOTIST_TRUSTED_PROXY must' "$scratch/out" || fail "REMOTIST_TRUSTED_PROXY=$everybody: $(<"$scratch/out")"
done
up "$state" --tls
url=$(from_env "$state" REMOTIST_URL)
port=${url##*:}
market_pid=$(pid_of "$state" market)
ca=$(from_env "$state" REMOTIST_CA_FILE)
export CURL_CA_BUNDLE=$ca

# A process that died stays as a zombie, without a program, until its parent looks.
market_runs() { readlink "/proc/$market_pid/exe" >/dev/null; }

# raw [OPTION…]: sends standard input as it is to the proxy and prints what comes back, until the proxy ends it.
raw() { timeout 25 openssl s_client -quiet -verify_quiet -verify_return_error -CAfile "$ca" -verify_hostname localhost -connect "127.0.0.1:$port" "$@" 2>/dev/null || true; }
pad() { head -c "$1" /dev/zero | tr '\0' A; }
credentials() { printf '{"email": "%s@smuggled.example", "password": "correct horse battery"}' "$1"; }

# Slow clients are given up while the rest of the test goes on.
{ printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'; sleep 18; } | raw -no_ign_eof >"$scratch/slow_head" & slow=($!)
{ printf 'POST /user/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{'; sleep 18; } | raw -no_ign_eof >"$scratch/slow_body" & slow+=($!)
perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => $ARGV[0]) or die; alarm 18; exit(sysread($s, $byte, 1) ? 1 : 0)' "127.0.0.1:$port" & silent=$!

echo "a session over TLS"
account='{"email": "ana@example.org", "password": "correct horse battery"}'
job='{"name": "hello", "exec_file": "main.R", "code": "x <- 1 + 1\n", "cpu": 1, "ram": 512, "disc": 100, "price": 1.5, "submit": true}'
[[ $url == https://localhost:* ]] || fail "--tls gave $url"
[[ $(status "$state" POST /user/register "$account") == 201 ]] || fail "register: $(<"$scratch/answer")"
[[ $(status "$state" POST /user/login "$account") == 200 ]] || fail "login: $(<"$scratch/answer")"
token=$(jq -r .token "$scratch/answer")
[[ $(status "$state" PUT /job/ "$job" "$token") == 201 ]] || fail "PUT /job/: $(<"$scratch/answer")"
id=$(jq -r .id "$scratch/answer")
[[ $(status "$state" GET "/job/$id" '' "$token") == 200 && $(jq -r .id "$scratch/answer") == "$id" ]] || fail "GET /job/$id: $(<"$scratch/answer")"

# exchange CURL_ARGUMENT…: the answer with its headers.
exchange() { curl -sS --noproxy '*' --http1.1 --max-time 10 -i "$@" || true; }
[[ $(exchange "https://127.0.0.1:$port/healthz") == 'HTTP/1.1 200 '* ]] || fail "no answer at 127.0.0.1"
# A proxy that swallowed Expect without an answer would keep this client waiting.
[[ $(exchange -H 'Expect: 100-continue' --expect100-timeout 20 -d "$account" -H 'Content-Type: application/json' "$url/user/login") == *'HTTP/1.1 200 '* ]] ||
  fail "a client that waits for 100 Continue was not served"

echo "identity and version"
# expect_untrusted WHAT CURL_ARGUMENT…: curl must end for the certificate's sake.
expect_untrusted() {
  local what=$1 code=0
  shift
  curl -s --noproxy '*' --max-time 10 -o /dev/null "$@" || code=$?
  ((code == 60)) || fail "$what: curl ended with $code, not with 60 (the certificate is not trusted)"
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2 -subj "/CN=some other CA" -keyout "$scratch/other.key" -out "$scratch/other.crt" 2>/dev/null
expect_untrusted "another CA" --cacert "$scratch/other.crt" "$url/healthz"
expect_untrusted "another name" --resolve "other.example:$port:127.0.0.1" "https://other.example:$port/healthz"
expect_untrusted "another address" "https://127.0.0.2:$port/healthz" --connect-to "127.0.0.2:$port:127.0.0.1:$port"
! curl -s --noproxy '*' --max-time 10 -o /dev/null "http://localhost:$port/healthz" || fail "the TLS port answers plain HTTP"
handshake() { openssl s_client -CAfile "$ca" -connect "127.0.0.1:$port" "$@" </dev/null 2>&1 || true; }
for version in 1 1_1; do
  [[ $(handshake "-tls$version" -cipher ALL:@SECLEVEL=0) == *'alert protocol version'* ]] || fail "TLS ${version/_/.} was not refused by the server"
done
for version in 1_2 1_3; do
  [[ $(handshake "-tls$version") == *'Verify return code: 0 (ok)'* ]] || fail "TLS ${version/_/.} does not work"
done
[[ $(handshake -alpn h2,http/1.1) == *'ALPN protocol: http/1.1'* ]] || fail "another protocol than HTTP/1.1 was agreed on"

echo "requests within requests"
# outer HEADERS [BODY]: a request that will be refused, with escapes. hidden: a whole request within it, which makes an account.
outer() { printf 'POST /user/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%b\r\n%b' "$1" "${2:-}"; }
hidden() {
  local body
  body=$(credentials "$name")
  printf 'POST /user/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body"
}
hidden_bytes() { hidden | wc -c; }
registered() { [[ $(status "$state" POST /user/login "$(credentials "$1")") == 200 ]]; }

# attack NAME: sends what attack_NAME prints, leaves the connection open for a while and keeps the answer.
attacks=()
attack() {
  local name=$1
  { "attack_$name"; sleep 2; } | raw -no_ign_eof >"$scratch/attack.$name" &
  attacks+=($!)
}
limit=1114112
more=$((limit + 2000))

attack_none() { hidden; }
attack_expect() { outer "Expect: 100-continue\r\nContent-Length: $more\r\n"; hidden; }
attack_expect_in_time() { outer "Expect: 100-continue\r\nContent-Length: $more\r\n"; sleep 0.5; hidden; sleep 0.5; pad "$more"; }
attack_expect_twice() { outer "Expect:\r\nExpect: 100-continue\r\nContent-Length: $more\r\n"; hidden; }
attack_expect_chunked() { outer 'Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n' '2\r\n{}\r\n-2\r\nXXXX'; hidden; }
attack_large() { outer "Content-Length: $more\r\n"; hidden; }
attack_length_wraps() { outer 'Content-Length: 18446744073709551616\r\n'; hidden; }
attack_length_signed() { outer 'Content-Length: 9223372036854775808\r\n'; hidden; }
attack_length_negative() { outer 'Content-Length: -1\r\n'; hidden; }
attack_length_plus() { outer 'Content-Length: +0\r\n'; hidden; }
attack_length_empty() { outer "Content-Length:\r\nContent-Length: $(hidden_bytes)\r\n"; hidden; }
attack_length_spaced() { outer "Content-Length : $(hidden_bytes)\r\n"; hidden; }
attack_two_lengths() { outer "Content-Length: 0\r\nContent-Length: $(hidden_bytes)\r\n"; hidden; }
attack_two_lengths_turned() { outer "Content-Length: $(hidden_bytes)\r\nContent-Length: 0\r\n"; hidden; }
attack_length_list() { outer "Content-Length: 0, $(hidden_bytes)\r\n"; hidden; }
attack_length_and_chunked() { outer 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n' '0\r\n\r\n'; hidden; }
attack_chunked_disguised() { outer "Transfer-Encoding: xchunked\r\nContent-Length: $(hidden_bytes)\r\n"; hidden; }
attack_chunked_twice() { outer 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n' '0\r\n\r\n'; hidden; }
attack_chunked_in_1_0() { outer "Transfer-Encoding: chunked\r\nContent-Length: $(hidden_bytes)\r\n" '0\r\n\r\n' | sed '1s,1\.1,1.0,'; hidden; }
attack_chunk_negative() { outer 'Transfer-Encoding: chunked\r\n' '2\r\nab\r\n-2\r\nXXXX'; hidden; }
attack_chunk_wraps() { outer 'Transfer-Encoding: chunked\r\n' '2\r\nab\r\nFFFFFFFFFFFFFFFE\r\nXXXX'; hidden; }
attack_chunk_large() {
  outer 'Transfer-Encoding: chunked\r\n' "$(printf '%x' $((limit + 1)))\r\n"
  pad $((limit + 1))
  sleep 0.5
  printf '\r\n%x\r\n' "$(hidden_bytes)"
  hidden
}
attack_chunks_many() {
  local i
  outer 'Transfer-Encoding: chunked\r\n'
  for ((i = 0; i < 80; ++i)); do printf '4000\r\n'; pad 16384; printf '\r\n'; done
  sleep 0.5
  hidden
}
attack_trailer() { outer 'Transfer-Encoding: chunked\r\n' '2\r\n{}\r\n0\r\nX-Trailer: '; hidden; }
attack_line_without_colon() { outer "Content-Length: $(hidden_bytes)\r\nno colon here\r\n"; hidden; }
attack_upgrade() { outer "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: $(hidden_bytes)\r\n" | sed '1s/POST/GET/'; hidden; }
attack_connect() { printf 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n'; hidden; }

attack none
wait "${attacks[@]}"
wait_until 10 registered none || fail "a request on its own made no account, so the rest would prove nothing: $(<"$scratch/attack.none")"
attacks=()
mapfile -t names < <(compgen -A function attack_ | sed 's/^attack_//' | grep -vx none)
for name in "${names[@]}"; do attack "$name"; done
wait "${attacks[@]}"
market_runs || fail "the market died: $(tail -n 5 "$state/log/market.log")"
carried_out=()
for name in "${names[@]}"; do
  ! registered "$name" || carried_out+=("$name")
done
((${#carried_out[@]} == 0)) || fail "of ${#names[@]} attacks these were carried out: ${carried_out[*]}"
[[ $(status "$state" POST /user/login "$(credentials "${names[0]}")") == 401 ]] || fail "login answers $(<"$scratch/answer")"
for name in expect large length_wraps; do
  [[ $(<"$scratch/attack.$name") == 'HTTP/1.1 413 '*'"too_large"'* ]] || fail "$name: not refused by the proxy: $(<"$scratch/attack.$name")"
done

# Requests one after the other without waiting are answered in their order.
printf 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' | raw >"$scratch/pipelined"
[[ $(tr -d '\r\n' <"$scratch/pipelined") == 'HTTP/1.1 200 '*'"openapi"'*'HTTP/1.1 200 '*'"status":"ok"'*'HTTP/1.1 404 '*'"not_found"'* ]] || fail "pipelined requests: $(<"$scratch/pipelined")"

# The market itself gives every answer a number, the proxy does not.
echo "answers of the proxy"
for target in /healthz /metrics; do
  [[ $(exchange "$url$target") == *strict-transport-security:* ]] || fail "$target without Strict-Transport-Security"
done
pad "$limit" >"$scratch/body"
[[ $(exchange -H Expect: -H 'Content-Type: application/json' --data-binary "@$scratch/body" "$url/user/login") == *'x-request-id:'* ]] || fail "a body of $limit bytes did not reach the market"
pad 1 >>"$scratch/body"
for header in Expect: 'Expect: 100-continue'; do
  answer=$(exchange -H "$header" -H 'Content-Type: application/json' --data-binary "@$scratch/body" "$url/user/login")
  [[ $answer == 'HTTP/1.1 413 '*'"too_large"'* && $answer != *x-request-id:* ]] || fail "a body of $((limit + 1)) bytes: $answer"
done
[[ $(printf 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n' | raw) == 'HTTP/1.1 400 '*'"malformed_request"'* ]] || fail "a target that is no path reached the market"

echo "the client's address"
for target in /metrics /metrics/ /metrics?x=1 /%6detrics /%6D%65trics/; do
  answer=$(exchange --path-as-is "$url$target")
  [[ $answer == 'HTTP/1.1 403 '* && $answer != *x-request-id:* ]] || fail "the proxy let $target pass: $answer"
done
for headers in '' 'X-Forwarded-For:' 'X-Forwarded-For:\r\nX-Forwarded-For: 127.0.0.1' 'x-forwarded-for: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\nX-Real-IP: 127.0.0.1' 'Connection: X-Forwarded-For'; do
  for target in /metrics "https://localhost:$port/metrics" "http://localhost:$port/%6detrics"; do
    answer=$(printf 'GET %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n%b\r\n' "$target" "$port" "${headers:+$headers\r\n}" | raw)
    [[ $answer == 'HTTP/1.1 403 '* ]] || fail "$target with '$headers': $answer"
  done
done
# Failed logins are counted by address, so they tell which one the market sees.
wrong='{"email": "ana@example.org", "password": "not this one"}'
login_from() { exchange -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d "$wrong" "$url/user/login" "$@" | tail -c 3; }
for ((i = 0; i < 10; ++i)); do login_from >/dev/null; done
[[ $(login_from) == 429 ]] || fail "failed logins were not counted"
for forged in 'X-Forwarded-For: 198.51.100.7' 'X-Forwarded-For;' 'X-Forwarded-For: 198.51.100.7, 198.51.100.8' 'X-Forwarded-For: nonsense'; do
  [[ $(login_from -H "$forged") == 429 && $(login_from -H "$forged" -H 'X-Forwarded-For: 198.51.100.9') == 429 ]] || fail "the market believes the client's own header '$forged'"
done
[[ $(login_from --interface 127.0.0.2) == 401 ]] || fail "the market does not see the address of a client at 127.0.0.2"

echo "the client's address behind an outer proxy"
behind_outer() { login_from --interface 127.0.0.9 "$@"; }
for ((i = 0; i < 10; ++i)); do behind_outer -H 'X-Forwarded-For: 203.0.113.7' >/dev/null; done
[[ $(behind_outer -H 'X-Forwarded-For: 203.0.113.7') == 429 ]] || fail "the address that an outer proxy tells is not believed"
[[ $(behind_outer -H 'X-Forwarded-For: 203.0.113.8') == 401 ]] || fail "two clients of an outer proxy share a limit"
[[ $(behind_outer) == 401 ]] || fail "an outer proxy that tells no address shares the limit of its clients"
# What its client made up comes first.
[[ $(behind_outer -H 'X-Forwarded-For: 203.0.113.8, 203.0.113.7') == 429 && $(behind_outer -H 'X-Forwarded-For: 203.0.113.8' -H 'X-Forwarded-For: 203.0.113.7') == 429 ]] ||
  fail "another address than the last one is believed"
[[ $(behind_outer -H 'X-Forwarded-For: 203.0.113.7, nonsense') == 401 && $(behind_outer -H 'X-Real-IP: 203.0.113.7' -H 'Forwarded: for=203.0.113.7') == 401 ]] ||
  fail "an outer proxy is believed what is no address, or another header"
for ((i = 0; i < 10; ++i)); do behind_outer -H 'X-Forwarded-For: 2001:db8::1' >/dev/null; done
[[ $(behind_outer -H 'X-Forwarded-For: 2001:db8::1') == 429 && $(behind_outer -H 'X-Forwarded-For: 2001:db8:0:1::1') == 401 ]] || fail "the IPv6 address that an outer proxy tells is not believed"
# On one connection each request has its own.
mapfile -t codes < <(for client in 203.0.113.7 203.0.113.20 203.0.113.7; do
  printf 'next\nurl = "%s/user/login"\noutput = /dev/null\nwrite-out = "%%{http_code} %%{num_connects}\\n"\nheader = "X-Forwarded-For: %s"\nheader = "Content-Type: application/json"\ndata = %s\ninterface = 127.0.0.9\n' \
    "$url" "$client" "$(jq -n --arg text "$wrong" '$text')"
done | curl -sS --noproxy '*' --http1.1 --max-time 30 -K -)
[[ ${codes[*]} == '429 1 401 0 429 0' ]] || fail "three clients on one connection of an outer proxy: ${codes[*]}"
# Its connections are not one client's; a client's requests are.
perl -MIO::Socket::INET -MIO::Select -e '
  my @all = map { IO::Socket::INET->new(PeerAddr => $ARGV[0], LocalAddr => "127.0.0.9") } 1 .. 300;
  sleep 1;
  exit(grep({ !$_ || IO::Select->new($_)->can_read(0) } @all) ? 1 : 0)
' "127.0.0.1:$port" || fail "connections of an outer proxy are counted as one client's"
# hasty REQUESTS [HEADER]: so many on one connection from $hasty_from.
hasty() {
  {
    for ((i = 0; i < $1; ++i)); do printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n%b\r\n' "${2:-}"; done
    printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%b\r\n' "${2:-}"
  } | raw -bind "$hasty_from"
}
# A machine that is too slow for the limit proves nothing about it.
hasty_from=127.0.0.9 began=$SECONDS
hasty 5100 'X-Forwarded-For: 203.0.113.30\r\n' >"$scratch/hasty"
((SECONDS - began > 8)) || grep -q 'HTTP/1.1 429 ' "$scratch/hasty" || fail "5100 requests of one client of an outer proxy within $((SECONDS - began)) s were all answered"
[[ $(behind_outer -H 'X-Forwarded-For: 203.0.113.31') == 401 ]] || fail "a client of an outer proxy suffers for another"

echo "many and slow clients"
perl -MIO::Socket::INET -MIO::Select -e '
  my @all = map { IO::Socket::INET->new(PeerAddr => $ARGV[0], LocalAddr => "127.0.0.3") } 1 .. 300;
  sleep 1;
  my $refused = grep { !$_ || IO::Select->new($_)->can_read(0) } @all;
  print "$refused\n"; exit(system(@ARGV[1 .. $#ARGV]) == 0 ? 0 : 1)
' "127.0.0.1:$port" curl -sf --noproxy '*' --max-time 10 -o /dev/null "$url/healthz" >"$scratch/refused" || fail "300 connections of one address keep another from being served"
[[ $(<"$scratch/refused") == 44 ]] || fail "of 300 connections of one address $(<"$scratch/refused") were refused, not 44"
hasty_from=127.0.0.4 began=$SECONDS
hasty 5100 >"$scratch/hasty"
((SECONDS - began > 8)) || grep -q 'HTTP/1.1 429 ' "$scratch/hasty" || fail "5100 requests of one address within $((SECONDS - began)) s were all answered"
wait "${slow[@]}"
for part in head body; do
  [[ $(<"$scratch/slow_$part") == 'HTTP/1.1 408 '* ]] || fail "a $part that does not arrive: '$(<"$scratch/slow_$part")'"
done
wait "$silent" || fail "a client that never begins TLS keeps its connection"

market_runs || fail "the market died: $(tail -n 5 "$state/log/market.log")"
answers "$state" || fail "the market does not answer any more"

echo "an RSA certificate"
openssl req -x509 -newkey rsa:2048 -noenc -days 365 -subj /CN=localhost -CA "$state/tls/ca.crt" -CAkey "$state/tls/ca.key" -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' \
  -keyout "$state/tls/server.key" -out "$state/tls/server.crt" 2>/dev/null
cat "$state/tls/server.crt" "$state/tls/server.key" >"$state/tls/server.pem"
kill "$(pid_of "$state" haproxy)"
up "$state" >/dev/null
for version in 1_2 1_3; do
  answer=$(handshake "-tls$version")
  [[ $answer == *'Verify return code: 0 (ok)'* && $answer == *'Server public key is 2048 bit'* ]] || fail "TLS ${version/_/.} does not work with an RSA certificate: $answer"
done
answer=$(handshake -tls1_2)
[[ $answer == *'Cipher is ECDHE-RSA-'* ]] || fail "TLS 1.2 with an RSA certificate: $answer"
[[ $(handshake -tls1_2 -cipher 'AES128-SHA256:ECDHE-RSA-AES128-SHA256:AES128-GCM-SHA256') == *'alert handshake failure'* ]] || fail "a cipher without forward secrecy or authentication was agreed on"
