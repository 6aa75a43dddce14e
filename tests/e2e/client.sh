#!/usr/bin/env bash
# The R package against a market with volunteers, over TLS: one script of tests/e2e/client after the other.
#   tests/e2e/client.sh [NAME…]   only these, such as round_trip
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

export REMOTIST_BIN=${REMOTIST_BIN:-$repo/build/bin}
"$REMOTIST_BIN/volunteer-agent" doctor >"$scratch/doctor" || skip "this machine cannot sandbox: $(grep MISSING "$scratch/doctor" | head -n 1)"
[[ -d build/r-lib/remotist ]] || fail "there is no build/r-lib/remotist: run script/build"

new_state stack
# A short lease, so that what is lost is soon found.
export REMOTIST_MARKET_BEAT_MS=2000 REMOTIST_MARKET_REGISTRATIONS_PER_ADDRESS_HOUR_MAX=1000
up "$state" --tls --volunteers 2
set -a
# shellcheck source=/dev/null
. "$state/env"
set +a
export NO_PROXY='*' REMOTIST_ROOT=$repo
REMOTIST_OWN_SOCKET=$(sed -n 's/^market_socket=//p' "$state/ports")
export REMOTIST_OWN_SOCKET

[[ $# -gt 0 ]] || set -- $(cd tests/e2e/client && printf '%s\n' *.R | sed 's/\.R$//')
failed=()
for name in "$@"; do
  echo "---- $name"
  timeout -k 10 300 Rscript --vanilla "tests/e2e/client/$name.R" || failed+=("$name")
done
[[ ${#failed[@]} -eq 0 ]] || fail "${failed[*]}"
