#!/usr/bin/env bash
# The README's demo shows a queued job and its message.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

new_state stack
script/demo --state "$state" >"$scratch/demo.out" 2>&1 || fail "script/demo: $(<"$scratch/demo.out")"
cat "$scratch/demo.out"
grep -q '"state": "queued"' "$scratch/demo.out" || fail "the demo shows no queued job"
id=$(sed -n 's/^    job //p' "$scratch/demo.out")
sed -n '/RabbitMQ/,$p' "$scratch/demo.out" | grep -q "$id" || fail "the demo shows no message of the job"
answers "$state" || fail "the demo's market does not run"
