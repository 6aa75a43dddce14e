#!/usr/bin/env bash
# The R package against a market with volunteers, over TLS: one script of tests/e2e/client after the other, then
# R CMD check, with the examples of the help pages run for real.
#   tests/e2e/client.sh [NAME…]   only these, such as round_trip; "check" is R CMD check
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

export REMOTIST_BIN=${REMOTIST_BIN:-$repo/build/bin}
need_sandbox
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

# Errors, warnings and notes all fail; the package's own tests are run by script/test.
check() {
  (
    mkdir "$scratch/check" && cd "$scratch/check"
    # Nothing is asked of repositories that may be out of reach, and the agents of examples have folders of their own.
    export _R_CHECK_CRAN_INCOMING_=false R_USER_DATA_DIR=$scratch/d REMOTIST_VOLUNTEERS=2
    R CMD build "$repo/client-r" && R CMD check --no-manual --no-tests remotist_*.tar.gz | tee check.log
    grep -qx 'Status: OK' check.log || { cat remotist.Rcheck/remotist-Ex.Rout.fail remotist.Rcheck/00install.out 2>/dev/null; exit 1; }
    grep -q 'Submitted job' remotist.Rcheck/remotist-Ex.Rout || { echo "the examples were not run"; exit 1; }
  )
}

if [[ $# -eq 0 ]]; then
  for script in tests/e2e/client/*.R; do set -- "$@" "$(basename "$script" .R)"; done
  set -- "$@" check
fi
failed=()
for name in "$@"; do
  echo "---- $name"
  case $name in
    check) check || failed+=(check) ;;
    *) timeout -k 10 600 Rscript --vanilla "tests/e2e/client/$name.R" || failed+=("$name") ;;
  esac
done
[[ ${#failed[@]} -eq 0 ]] || fail "${failed[*]}"
