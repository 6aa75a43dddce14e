#!/usr/bin/env bash
# Jobs under fire: kills, freezes and lying machines; in the end every job was done once and paid once. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: tests/chaos/dispatch.sh [SECONDS]

Two markets, two workers, PostgreSQL and RabbitMQ of its own, clients that submit all the time, and
machines that lose, lie, freeze and vanish. For SECONDS (default: 300) something is killed with SIGKILL or
stopped for a while every moment: an agent, a worker, a market, the proxy's connections with it, RabbitMQ,
PostgreSQL. Then everything is started again, well-behaved machines finish the work, and it is checked that

  - every submitted job is completed, by exactly one attempt, with its result
  - whatever an agent was told is recorded, is
  - nobody was paid twice and the ledger is balanced
  - every machine has free what its attempts leave, and no attempt is left over

REMOTIST_TEST_SEED repeats the order of the violence (not its timing).
TEXT
}
case ${1:-300} in
  -h | --help) help; exit 0 ;;
  *[!0-9]*) echo "tests/chaos/dispatch.sh: SECONDS must be a number (try --help)" >&2; exit 2 ;;
esac
seconds=${1:-300}

. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib/stack.sh"
# No agent and no client outlives this, whatever fails.
trap 'for pid in $(jobs -p); do kill -KILL "$pid" 2>/dev/null || true; done; clean_up' EXIT
seed=${REMOTIST_TEST_SEED:-$SRANDOM}
RANDOM=$((seed % 32768))
echo "REMOTIST_TEST_SEED=$seed, $seconds s"

machines=40 cores=4
export REMOTIST_MARKET_BEAT_MS=1000
export REMOTIST_WORKER_ACCEPT_MS=2000 REMOTIST_WORKER_REAP_MS=200
new_state stack
start_all() { script/up --state "$state" --markets 2 --workers 2 >>"$scratch/up.out" 2>&1; }
start_all || fail "the stack did not start: $(tail -n 20 "$scratch/up.out")"
# shellcheck source=/dev/null
. "$state/env"
bin=${REMOTIST_BIN:-$repo/build/bin}

query() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$@" "$REMOTIST_DATABASE_URL"; }
query -v accounts=20 -v machines=$machines -v cores=$cores -f bench/dispatch/setup.sql
query -c "SELECT machine_id, 'bench-machine-' || n FROM bench.lent ORDER BY n" >"$scratch/machines"
seq 20 | sed 's/^/bench-user-/' >"$scratch/tokens"
# Two agents, each with half of the machines.
split -n l/2 "$scratch/machines" "$scratch/machines."

wild=(--job-ms 50 --job-ms-max 800 --lose 0.02 --lie 0.05 --refuse 0.02 --handback 0.02 --vanish 0.01 --vanish-ms 2000
  --amnesia 0.3 --freeze 0.005 --freeze-ms 5000)
# agent NAME OPTION…: starts one; its pid is in $agents[NAME].
declare -A agents
agent() {
  local name=$1
  shift
  "$bin/agent_load" --machines "$scratch/machines.$name" --socket-url "$REMOTIST_SOCKET_URL" --url "$REMOTIST_URL" \
    --journal "$scratch/journal.$name" --result-bytes 200 "$@" >>"$scratch/agent.$name.out" 2>>"$scratch/agent.$name.err" &
  agents[$name]=$!
}

# A client that never gives up: the same key until the job is there.
touch "$scratch/submitting"
"$bin/bench_submit" "$REMOTIST_URL" "$scratch/tokens" 1000000 3 40 "$scratch/submitting" >"$scratch/submitted" 2>"$scratch/submit.err" &
submitter=$!
agent aa "${wild[@]}"
agent ab "${wild[@]}"

# part NAME SIGNAL: to the process that the stack runs under this name.
part() { kill -"$2" "$(pid_of "$state" "$1")" 2>/dev/null || true; }

declare -A done_to
strike() {
  local what=$((RANDOM % 11))
  local market=market worker=worker name=aa
  ((RANDOM % 2)) && market=market2
  ((RANDOM % 2)) && worker=worker2
  ((RANDOM % 2)) && name=ab
  case $what in
    0 | 1) what="kill $market"; part "$market" KILL ;;
    2 | 3) what="kill $worker"; part "$worker" KILL ;;
    4) what="kill rabbitmq"; part rabbitmq KILL ;;
    5) what="kill postgres"; part postgres KILL ;;
    6 | 7) what="kill an agent"; kill -KILL "${agents[$name]}" 2>/dev/null || true; wait "${agents[$name]}" 2>/dev/null || true; agent "$name" "${wild[@]}" ;;
    8) what="freeze $market"; part "$market" STOP; sleep 2; part "$market" CONT ;;
    9) what="freeze $worker"; part "$worker" STOP; sleep 4; part "$worker" CONT ;;
    10) what="cut every connection"; part haproxy KILL ;;
  esac
  done_to[$what]=$((${done_to[$what]:-0} + 1))
}

end=$((SECONDS + seconds))
while ((SECONDS < end)); do
  sleep "$((RANDOM % 2)).$((RANDOM % 10))"
  strike
  start_all || { sleep 1; start_all || fail "the stack did not come back: $(tail -n 20 "$scratch/up.out")"; }
  jobs=$(wc -l <"$scratch/submitted")
  printf '\r%s jobs submitted, %s strikes ' "$jobs" "$(IFS=+; echo $((${done_to[*]})))" >&2
done
echo >&2
for what in "${!done_to[@]}"; do echo "  ${done_to[$what]} x $what"; done | sort -k 3

# Peace: no more jobs, machines that behave, and all that waits is done.
rm "$scratch/submitting"
wait "$submitter" || fail "the client failed: $(<"$scratch/submit.err")"
start_all || fail "the stack did not come back: $(tail -n 20 "$scratch/up.out")"
for name in aa ab; do kill -KILL "${agents[$name]}" 2>/dev/null || true; wait "${agents[$name]}" 2>/dev/null || true; done
# A machine that lost a job is not given it again: the last ones have lost none.
query -c "INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, price_micro_per_cpu_second)
            SELECT gen_random_uuid(), account_id, 'peace' || n, 16, 16384, 16384, 1 FROM bench.person WHERE n <= 4;
          INSERT INTO session_token (token_hash, account_id, machine_id, expires_at)
            SELECT sha256(convert_to('token-' || name, 'UTF8')), account_id, id, now() + interval '1 day' FROM machine WHERE name LIKE 'peace%'"
query -c "SELECT id, 'token-' || name FROM machine WHERE name LIKE 'peace%'" >"$scratch/machines.peace"
agent peace
unfinished() { query -c "SELECT count(*) FROM job WHERE state NOT IN ('completed', 'failed')"; }
deadline=$((SECONDS + 180))
until [[ $(unfinished) == 0 ]]; do
  ((SECONDS < deadline)) || fail "$(unfinished) jobs are not done three minutes after the last strike: $(query -c 'SELECT state, count(*) FROM job GROUP BY 1' | tr '\n' ' ')"
  sleep 1
done
kill -TERM "${agents[peace]}"
wait "${agents[peace]}" || true

none() { # none CLAIM QUERY: the query finds nothing
  local found
  found=$(query -c "$2")
  [[ -z $found ]] || fail "$1: $(head -n 5 <<<"$found")"
  echo "ok  $1"
}
cut -d ' ' -f 1 "$scratch/submitted" | sort -u >"$scratch/ids"
query -c "CREATE TABLE bench.submitted (id uuid)" -c "\copy bench.submitted FROM '$scratch/ids'"
sort -u "$scratch"/journal.* | awk '$1 == "acknowledged" && $4 == "completed" { print $2, $3 }' | sort -u >"$scratch/told"
query -c "CREATE TABLE bench.told (job_id uuid, number int)" -c "\copy bench.told FROM '$scratch/told' WITH (DELIMITER ' ')"

none "every job that was submitted is there" "SELECT id FROM bench.submitted EXCEPT SELECT id FROM job"
none "every job that did not lose five machines in a row is completed" \
  "SELECT id, state, failure_code FROM job WHERE state <> 'completed' AND failure_code IS DISTINCT FROM 'lost_too_often'"
none "a job is completed by exactly one attempt, its last" \
  "SELECT j.id FROM job j JOIN attempt a ON a.job_id = j.id AND a.outcome = 'completed' WHERE j.state = 'completed'
   GROUP BY j.id, j.attempt_number HAVING count(*) <> 1 OR max(a.number) <> j.attempt_number"
none "every completed job has its result, of its last attempt" \
  "SELECT j.id FROM job j WHERE j.state = 'completed' AND NOT EXISTS (SELECT FROM job_file f WHERE f.job_id = j.id AND f.role = 'output'
     AND f.attempt_number = j.attempt_number AND convert_from(substr(f.inline_bytes, 1, 36), 'SQL_ASCII') = j.id::text)"
none "what an agent was told is recorded, is" \
  "SELECT job_id, number FROM bench.told EXCEPT SELECT job_id, number FROM attempt WHERE outcome = 'completed'"
none "no attempt is left over" "SELECT job_id, number FROM attempt WHERE ended_at IS NULL"
none "nobody was paid twice" \
  "SELECT job_id FROM ledger_transfer WHERE reason IN ('pay', 'release') GROUP BY 1 HAVING count(*) > 1"
none "every payment is what its attempt earned" \
  "SELECT a.job_id FROM attempt a JOIN ledger_transfer t ON t.job_id = a.job_id AND t.reason = 'pay' JOIN machine m ON m.id = a.machine_id
   JOIN ledger_account l ON l.account_id = m.account_id AND l.kind = 'user' JOIN ledger_entry e ON e.transfer_id = t.id AND e.ledger_account_id = l.id
   JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number WHERE e.amount_micro <> a.paid_micro AND m.account_id <> j.account_id"
none "every machine has free what its attempts leave" \
  "SELECT s.id FROM machine_session s JOIN machine m ON m.id = s.machine_id WHERE s.ended_at IS NULL AND s.cpu_cores_free <> m.cpu_cores"
query -c "UPDATE account SET role = 'admin' WHERE id = (SELECT account_id FROM bench.person WHERE n = 1)"
[[ $(status "$state" GET /admin/audit '' bench-user-1) == 200 ]] || fail "the audit was refused: $(<"$scratch/answer")"
jq -e 'all(.invariants[]; .broken_by == null)' "$scratch/answer" >/dev/null || fail "the ledger: $(<"$scratch/answer")"
echo "ok  the ledger is balanced"
query -c "SELECT count(*) || ' jobs, ' || (SELECT count(*) FROM attempt) || ' attempts' FROM job"
query -c "SELECT '  ' || count(*) || ' ' || outcome FROM attempt GROUP BY outcome ORDER BY 1"
