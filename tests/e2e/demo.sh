#!/usr/bin/env bash
# The README's demo shows an R script that runs on a lent machine, its result and its pay.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

"${REMOTIST_BIN:-build/bin}/volunteer-agent" doctor >"$scratch/doctor" || skip "this machine cannot sandbox: $(grep MISSING "$scratch/doctor" | head -n 1)"
new_state stack
script/demo --state "$state" >"$scratch/demo.out" 2>&1 || fail "script/demo: $(<"$scratch/demo.out")"
cat "$scratch/demo.out"
grep -q '"state": "completed"' "$scratch/demo.out" || fail "the demo shows no completed job"
grep -q '[$] x: num' "$scratch/demo.out" || fail "the demo shows no result"
grep -q '"reason": "pay"' "$scratch/demo.out" || fail "the demo shows no payment"
grep -Eq 'now has 1[0-9][0-9]\.[0-9]+ credits' "$scratch/demo.out" || fail "the lender earned nothing"
answers "$state" || fail "the demo's market does not run"
