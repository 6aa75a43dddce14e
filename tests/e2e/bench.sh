#!/usr/bin/env bash
# The market's benchmark measures both sides and leaves nothing behind, also when it is interrupted.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

TMPDIR=$scratch bench/market/run --seconds 1 --rounds 1 >"$scratch/out" 2>&1 || fail "the benchmark failed: $(<"$scratch/out")"
cat "$scratch/out"
for name in 'GET /healthz' 'GET /job/{id}' 'PUT /job/' 'event-loop lag'; do
  grep -qF "$name" "$scratch/out" || fail "there is no figure for $name"
done
[[ -z $(find "$scratch" -mindepth 1 -type d) ]] || fail "it left folders behind"
expect_no_process "$scratch"

# A job of this shell would ignore SIGINT.
env --default-signal TMPDIR="$scratch" bench/market/run >"$scratch/out" 2>&1 &
stack_started() { compgen -G "$scratch/*/stack/env" >/dev/null; }
wait_until 120 stack_started || fail "no stack started: $(<"$scratch/out")"
kill -INT $!
wait $! && fail "it was interrupted and says that all went well"
[[ -z $(find "$scratch" -mindepth 1 -type d) ]] || fail "interrupted, it left folders behind"
expect_no_process "$scratch"
