#!/usr/bin/env bash
# The README's demo shows a job that goes to a machine and is paid.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

new_state stack
script/demo --state "$state" >"$scratch/demo.out" 2>&1 || fail "script/demo: $(<"$scratch/demo.out")"
cat "$scratch/demo.out"
grep -q '"state": "completed"' "$scratch/demo.out" || fail "the demo shows no completed job"
grep -q '"reason": "pay"' "$scratch/demo.out" || fail "the demo shows no payment"
grep -Eq 'now has 10[0-9]\.[0-9]+ credits' "$scratch/demo.out" || fail "the lender earned nothing"
answers "$state" || fail "the demo's market does not run"
