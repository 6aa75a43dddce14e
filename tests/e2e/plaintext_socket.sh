#!/usr/bin/env bash
# After a login over https the agent refuses to start when the market wants its socket at a ws:// address.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

bin=${REMOTIST_BIN:-build/bin}
new_state stack
up "$state" --tls
url=$(from_env "$state" REMOTIST_URL)
CURL_CA_BUNDLE=$(from_env "$state" REMOTIST_CA_FILE)
export CURL_CA_BUNDLE
log_in

agent() { env -i PATH="$PATH" "$bin/volunteer-agent" --state "$scratch/agent" "$@"; }
echo 'correct horse' | agent login --url "$url" --ca-file "$CURL_CA_BUNDLE" --email client@example.org >/dev/null
agent add-machine --name plain >/dev/null

# The same market with another SOCKET_URL. It keeps the stack's mark in its environment, so that script/down ends it.
market=$(pid_of "$state" market)
mapfile -d '' -t settings <"/proc/$market/environ"
market_port=
for setting in "${settings[@]}"; do
  [[ $setting != REMOTIST_MARKET_SOCKET_PORT=* ]] || market_port=${setting#*=}
done
kill "$market"
gone() { ! kill -0 "$market" 2>/dev/null; }
wait_until 30 gone || fail "the market does not end"
plain=ws://127.0.0.1:$market_port/volunteer/socket
env -i "${settings[@]}" REMOTIST_MARKET_SOCKET_URL="$plain" "$bin/remotist-market" serve </dev/null >"$scratch/market.log" 2>&1 &
market=$!
wait_until 30 answers "$state" || fail "the market does not answer: $(tail -n 5 "$scratch/market.log")"

timeout 30 env -i PATH="$PATH" "$bin/volunteer-agent" --state "$scratch/agent" start --run-strangers-code-without-sandbox >"$scratch/out" 2>&1 && fail "it started"
grep -qF "you logged in at $url, but the market wants this machine's socket at $plain, where its token would travel as plain text" "$scratch/out" ||
  fail "start: $(<"$scratch/out")"
! grep -q remotist_machine_ "$scratch/agent/machine.json" || fail "a token was kept: $(<"$scratch/agent/machine.json")"
kill "$market"
wait "$market" || true
