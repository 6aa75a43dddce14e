#!/usr/bin/env bash
# Two markets behind one address are one market to everybody: the tests that talk to it pass, one may die, both come back.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

export REMOTIST_MARKET_REGISTRATIONS_PER_ADDRESS_HOUR_MAX=1000000 REMOTIST_PROXY_BODY_SECONDS_MAX=8
new_state stack
up "$state" --markets 2 --workers 0  # a worker would take the messages that are looked for
mapfile -t traces < <(traces_of "$state")
url=$(from_env "$state" REMOTIST_URL)
read -ra direct < <(from_env "$state" REMOTIST_MARKET_URLS)
((${#direct[@]} == 2)) || fail "two markets have the addresses ${direct[*]}"

# drip BYTES: sends so much of a body of 100 KiB at once and then a byte each half second; prints what came back when it
# could send no more, or nothing after 40 s.
drip() {
  perl -MIO::Socket::INET -MIO::Select -e '
    my ($to, $bytes) = @ARGV;
    my $socket = IO::Socket::INET->new(PeerAddr => $to, LocalAddr => "127.0.0.9") or die;
    my $select = IO::Select->new($socket);
    $SIG{PIPE} = "IGNORE";
    syswrite $socket, "POST /user/login HTTP/1.1\r\nHost: x\r\nContent-Length: 102400\r\n\r\n" . "x" x $bytes;
    for (1 .. 80) {
      if ($select->can_read(0.5)) { sysread $socket, my $answer, 4096; print "closed $answer"; exit }
      syswrite $socket, "x";
    }
  ' "${url#http://}" "$1"
}
# requests_at URL: how many requests for /openapi.json a market has answered.
requests_at() { curl -sS --noproxy '*' "$1/metrics" | sed -n 's,^remotist_requests_total{.*route="/openapi.json".*} ,,p'; }

echo "each request goes to the next market, on one connection too"
curl -sS --noproxy '*' -o /dev/null "$url/openapi.json?[1-10]"
for one in "${direct[@]}"; do
  [[ $(requests_at "$one") == 5 ]] || fail "of ten requests $one had $(requests_at "$one")"
done

# Not earlier: they would count among the ten. What became of them is looked at further down.
drip 10 >"$scratch/drip.small" & drips=($!)
drip 50000 >"$scratch/drip.large" & drips+=($!)

echo "the client's address is known, and nobody makes it up"
wrong='{"email": "nobody@example.org", "password": "not this one"}'
login() { curl -sS --noproxy '*' -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d "$wrong" "$url/user/login" "$@"; }
for ((i = 0; i < 10; ++i)); do
  [[ $(login --interface 127.0.0.2) == 401 ]] || fail "failed login $i"
done
[[ $(login --interface 127.0.0.2 -H 'X-Forwarded-For: 198.51.100.7') == 429 ]] || fail "failed logins were not counted by the client's address"
[[ $(login --interface 127.0.0.3) == 401 ]] || fail "the markets take two clients for one"
[[ $(status "$state" GET /metrics) == 403 ]] || fail "the proxy shows the metrics"

echo "the tests that talk to a market"
facing=(account admin blob events job machine market rights two_markets hostile_http)
(
  set -a
  # shellcheck source=/dev/null
  . "$state/env"
  export REMOTIST_ROOT=$repo
  REMOTIST_BIN=${REMOTIST_BIN:-$repo/build/bin}
  "$REMOTIST_BIN/integration_tests" -sf="$(printf '*/integration/%s_test.cc,' "${facing[@]}")"
) 2>"$scratch/tests.log" || fail "the tests failed: $(tail -n 30 "$scratch/tests.log")"

echo "a body that drips holds no connection for ever"
wait "${drips[@]}"
[[ $(<"$scratch/drip.small") == *'HTTP/1.1 408 '*'"request_timeout"'* ]] || fail "the first bytes of a body that drips: '$(<"$scratch/drip.small")'"
[[ $(<"$scratch/drip.large") == closed* ]] || fail "the rest of a body that drips was waited for"

echo "one market dies"
account='{"email": "ana@example.org", "password": "correct horse battery"}'
[[ $(status "$state" POST /user/register "$account") == 201 ]] || fail "register: $(<"$scratch/answer")"
for part in market market2; do
  kill -KILL "$(pid_of "$state" "$part")"
  for ((i = 0; i < 10; ++i)); do
    [[ $(status "$state" POST /user/login "$account") == 200 ]] || fail "without $part a login got: $(<"$scratch/answer")"
  done
  up "$state"
done
for one in "${direct[@]}"; do
  curl -sSf --noproxy '*' -o /dev/null "$one/healthz" || fail "script/up did not bring back $one"
done

echo "both die, with the proxy"
kill -KILL "$(pid_of "$state" market)" "$(pid_of "$state" market2)" "$(pid_of "$state" haproxy)"
up "$state"
[[ $(from_env "$state" REMOTIST_URL) == "$url" ]] || fail "the address changed"
answers "$state" || fail "the markets did not come back"

echo "TLS in front, then one market, then none"
up "$state" --tls
url=$(from_env "$state" REMOTIST_URL)
[[ $url == https://* ]] || fail "--tls gave $url"
CURL_CA_BUNDLE=$(from_env "$state" REMOTIST_CA_FILE)
export CURL_CA_BUNDLE
[[ -n $(pid_of "$state" market2) ]] || fail "--tls forgot the second market"
[[ $(status "$state" POST /user/login "$account") == 200 ]] || fail "login: $(<"$scratch/answer")"
up "$state" --markets 1
[[ ! -e $state/run/market2.pid ]] || fail "the second market is still there"
[[ $(status "$state" POST /user/login "$account") == 200 ]] || fail "login: $(<"$scratch/answer")"
up "$state" --markets 3
down "$state"
# It names the stack's folder, and every process of this test would be taken for one of the stack.
unset CURL_CA_BUNDLE
expect_no_process "${traces[@]}"
