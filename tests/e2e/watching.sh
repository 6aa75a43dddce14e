#!/usr/bin/env bash
# A variable that changes a hundred times a second for a minute: its history is exact, and so is what a session sees that
# watches it, although the market is killed, the agent's connection is cut and the database is restarted meanwhile.
#   tests/e2e/watching.sh [SECONDS]   of changes, at least 20 (default: 60)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

seconds=${1:-60}
((seconds >= 20)) || fail "needs at least 20 seconds"
export REMOTIST_BIN=${REMOTIST_BIN:-$repo/build/bin}
need_sandbox
[[ -d build/r-lib/remotist ]] || fail "there is no build/r-lib/remotist: run script/build"

new_state stack
up "$state" --tls --volunteers 1
set -a
# shellcheck source=/dev/null
. "$state/env"
set +a
export NO_PROXY='*' CHANGES=$((seconds * 100))

cat >"$scratch/watch.R" <<'R'
source("tests/e2e/lib/session.R")
new_account("watching")
n <- as.integer(Sys.getenv("CHANGES"))
job <- addJob("a hundred a second", "main.R", ram = 512, disc = 100, partialResultsVars = "x", folder_path = job_folder("main.R" = c(
  "begun <- Sys.time()",
  sprintf("for (i in 1:%d) {", n),
  "  x <- i",
  "  early <- as.numeric(begun) + i / 100 - as.numeric(Sys.time())",
  "  if (early > 0) Sys.sleep(early)",
  "}"
)))
seen <- integer(n)
count <- 0L
done <- watchVar(job, "x", function(value, time) {
  count <<- count + 1L
  seen[[count]] <<- value
  if (count %% 100L == 0L) cat("seen", count, "\n")
})
claim("the session that watched has seen each change once, in order", {
  expect(done$state == "completed", viewJob(job)$attempt == 1L, identical(seen, seq_len(n)))
})
claim("the history has each change once, none dropped, put together or thinned", {
  history <- loadPartialResultHistory(job, "x")
  expect(
    identical(unlist(history$value), seq_len(n)), identical(history$sequence, as.double(seq_len(n))), all(history$changes == 1),
    !any(history$thinned), !any(history$superseded), !is.unsorted(history$time)
  )
  cat(sprintf("%d changes in %.1f s\n", n, as.numeric(history$time[[n]] - history$time[[1]], units = "secs")))
})
R
Rscript --vanilla "$scratch/watch.R" >"$scratch/watch.out" 2>&1 &
watcher=$!
seen() { (($(grep -c '^seen' "$scratch/watch.out") * 100 >= $1)); }
told() { tail -n 20 "$scratch/watch.out"; tail -n 5 "$state"/log/{market,volunteer1}.log; }

wait_until 60 seen 300 || fail "nothing is seen: $(told)"
echo "== the market is killed"
kill -KILL "$(pid_of "$state" market)"
up "$state" >/dev/null
wait_until 60 seen $((CHANGES / 3)) || fail "it is not seen any more: $(told)"
echo "== the agent's connection is cut"
kill -KILL "$(pid_of "$state" haproxy)"
up "$state" >/dev/null
wait_until 60 seen $((CHANGES * 2 / 3)) || fail "it is not seen any more: $(told)"
echo "== the database is killed"
kill -KILL "$(pid_of "$state" postgres)"
up "$state" >/dev/null
wait "$watcher" || fail "$(told)"
grep -v '^seen' "$scratch/watch.out"
