#!/usr/bin/env bash
# The README's demo shows a job from R on a lent machine, its output, its result in R and its pay; twice.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

need_sandbox
new_state stack
script/demo --state "$state" >"$scratch/demo.out" 2>&1 || fail "script/demo: $(<"$scratch/demo.out")"
cat "$scratch/demo.out"
grep -q 'round 12: ' "$scratch/demo.out" || fail "the demo shows no output of the job"
grep -Eq 'Loaded .*interval' "$scratch/demo.out" || fail "the demo loads no result"
grep -Eq '97.5% *$' "$scratch/demo.out" || fail "the demo shows no result"
grep -Eq 'volunteer[12]  1[0-9][0-9]\.[0-9]+ credits, \+0\.00[0-9]*[1-9]' "$scratch/demo.out" || fail "no lender earned anything"
answers "$state" || fail "the demo's market does not run"

echo "== a second run takes less than half a minute"
SECONDS=0
script/demo --state "$state" >"$scratch/demo.out" 2>&1 || fail "script/demo: $(<"$scratch/demo.out")"
echo "it took $SECONDS s"
((SECONDS < 30)) || fail "a second run took $SECONDS s"
