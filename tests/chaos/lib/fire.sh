# shellcheck shell=bash
# What the chaos tests share: a stack under fire, clients that never give up, and what must hold afterwards. Sourced
# after tests/e2e/lib/stack.sh, with $seconds set.

# No agent and no client outlives this, whatever fails.
end_fire() {
  local pid
  for pid in $(jobs -p); do kill -KILL "$pid" 2>/dev/null || true; done
  clean_up
}
trap end_fire EXIT
seed=${REMOTIST_TEST_SEED:-$SRANDOM}
RANDOM=$((seed % 32768))
echo "REMOTIST_TEST_SEED=$seed, $seconds s"

export REMOTIST_MARKET_BEAT_MS=1000
export REMOTIST_WORKER_ACCEPT_MS=2000 REMOTIST_WORKER_REAP_MS=200
new_state stack
bin=${REMOTIST_BIN:-$repo/build/bin}

# start_all OPTION…: what has been killed, with the options of script/up.
start_all() { script/up --state "$state" --markets 2 --workers 2 "$@" >>"$scratch/up.out" 2>&1; }
come_back() { start_all "$@" || { sleep 1; start_all "$@" || fail "the stack did not come back: $(tail -n 20 "$scratch/up.out")"; }; }

query() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$@" "$REMOTIST_DATABASE_URL"; }

# begin_fire MACHINES CORES: a stack with 20 accounts and these machines, whose agents the script starts.
begin_fire() {
  start_all || fail "the stack did not start: $(tail -n 20 "$scratch/up.out")"
  # shellcheck source=/dev/null
  . "$state/env"
  query -v accounts=20 -v machines="$1" -v cores="$2" -f bench/dispatch/setup.sql
  seq 20 | sed 's/^/bench-user-/' >"$scratch/tokens"
}

# begin_submitting PAUSE_MS [JOB_FILE]: a client that never gives up: the same key until the job is there.
begin_submitting() {
  touch "$scratch/submitting"
  "$bin/bench_submit" "$REMOTIST_URL" "$scratch/tokens" 1000000 3 "$1" "$scratch/submitting" "${@:2}" >"$scratch/submitted" 2>"$scratch/submit.err" &
  submitter=$!
}
end_submitting() {
  rm "$scratch/submitting"
  wait "$submitter" || fail "the client failed: $(<"$scratch/submit.err")"
}

# part NAME SIGNAL: to the process that the stack runs under this name.
part() { kill -"$2" "$(pid_of "$state" "$1")" 2>/dev/null || true; }

# strike_market NUMBER: one of 9 blows against the market; sets $what.
strike_market() {
  local market=market worker=worker
  ((RANDOM % 2)) && market=market2
  ((RANDOM % 2)) && worker=worker2
  case $1 in
    0 | 1) what="kill $market"; part "$market" KILL ;;
    2 | 3) what="kill $worker"; part "$worker" KILL ;;
    4) what="kill rabbitmq"; part rabbitmq KILL ;;
    5) what="kill postgres"; part postgres KILL ;;
    6) what="freeze $market"; part "$market" STOP; sleep 2; part "$market" CONT ;;
    7) what="freeze $worker"; part "$worker" STOP; sleep 4; part "$worker" CONT ;;
    8) what="cut every connection"; part haproxy KILL ;;
  esac
}

# fire STRIKE OPTION…: calls STRIKE, which sets $what, every moment, and starts again what it has felled.
fire() {
  local strike=$1 end=$((SECONDS + seconds)) what strikes=0
  declare -A done_to
  shift
  while ((SECONDS < end)); do
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    "$strike"
    done_to[$what]=$((${done_to[$what]:-0} + 1))
    come_back "$@"
    printf '\r%s jobs submitted, %s strikes ' "$(wc -l <"$scratch/submitted")" "$((++strikes))" >&2
  done
  echo >&2
  for what in "${!done_to[@]}"; do echo "  ${done_to[$what]} x $what"; done | sort -k 3
}

unfinished() { query -c "SELECT count(*) FROM job WHERE state NOT IN ('completed', 'failed')"; }
await_all_done() {
  local deadline=$((SECONDS + 180))
  until [[ $(unfinished) == 0 ]]; do
    ((SECONDS < deadline)) || fail "$(unfinished) jobs are not done three minutes after the last strike: $(query -c 'SELECT state, count(*) FROM job GROUP BY 1' | tr '\n' ' ')"
    sleep 1
  done
}

none() { # none CLAIM QUERY: the query finds nothing
  local found
  found=$(query -c "$2")
  [[ -z $found ]] || fail "$1: $(head -n 5 <<<"$found")"
  echo "ok  $1"
}

check_jobs() {
  cut -d ' ' -f 1 "$scratch/submitted" | sort -u >"$scratch/ids"
  query -c "CREATE TABLE bench.submitted (id uuid)" -c "\copy bench.submitted FROM '$scratch/ids'"
  none "every job that was submitted is there" "SELECT id FROM bench.submitted EXCEPT SELECT id FROM job"
  none "every job that did not lose five machines is completed" \
    "SELECT id, state, failure_code FROM job WHERE state <> 'completed' AND failure_code IS DISTINCT FROM 'lost_too_often'"
  none "a job is completed by exactly one attempt, its last" \
    "SELECT j.id FROM job j JOIN attempt a ON a.job_id = j.id AND a.outcome = 'completed' WHERE j.state = 'completed'
     GROUP BY j.id, j.attempt_number HAVING count(*) <> 1 OR max(a.number) <> j.attempt_number"
  none "no attempt is left over" "SELECT job_id, number FROM attempt WHERE ended_at IS NULL"
  none "nobody was paid twice" \
    "SELECT job_id FROM ledger_transfer WHERE reason IN ('pay', 'release') GROUP BY 1 HAVING count(*) > 1"
  none "every payment is what its attempt earned" \
    "SELECT a.job_id FROM attempt a JOIN ledger_transfer t ON t.job_id = a.job_id AND t.reason = 'pay' JOIN machine m ON m.id = a.machine_id
     JOIN ledger_account l ON l.account_id = m.account_id AND l.kind = 'user' JOIN ledger_entry e ON e.transfer_id = t.id AND e.ledger_account_id = l.id
     JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number WHERE e.amount_micro <> a.paid_micro AND m.account_id <> j.account_id"
  none "every machine has free what its attempts leave" \
    "SELECT s.id FROM machine_session s JOIN machine m ON m.id = s.machine_id WHERE s.ended_at IS NULL AND s.cpu_cores_free <> m.cpu_cores"
}

check_ledger() {
  query -c "UPDATE account SET role = 'admin' WHERE id = (SELECT account_id FROM bench.person WHERE n = 1)"
  [[ $(status "$state" GET /admin/audit '' bench-user-1) == 200 ]] || fail "the audit was refused: $(<"$scratch/answer")"
  jq -e 'all(.invariants[]; .broken_by == null)' "$scratch/answer" >/dev/null || fail "the ledger: $(<"$scratch/answer")"
  echo "ok  the ledger is balanced"
  query -c "SELECT count(*) || ' jobs, ' || (SELECT count(*) FROM attempt) || ' attempts' FROM job"
  query -c "SELECT '  ' || count(*) || ' ' || outcome FROM attempt GROUP BY outcome ORDER BY 1"
}
