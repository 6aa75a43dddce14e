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

REMOTIST_TEST_SEED repeats the order of the kills (not its timing).
TEXT
}
case ${1:-300} in
  -h | --help) help; exit 0 ;;
  *[!0-9]*) echo "tests/chaos/dispatch.sh: SECONDS must be a number (try --help)" >&2; exit 2 ;;
esac
seconds=${1:-300}

. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib/stack.sh"
. tests/chaos/lib/fire.sh
begin_fire 40 4
query -c "SELECT machine_id, 'bench-machine-' || n FROM bench.lent ORDER BY n" >"$scratch/machines"
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

begin_submitting 40
agent aa "${wild[@]}"
agent ab "${wild[@]}"

strike() {
  local number=$((RANDOM % 11)) name=aa
  ((RANDOM % 2)) && name=ab
  if ((number < 9)); then
    strike_market "$number"
  else
    what="kill an agent"
    kill -KILL "${agents[$name]}" 2>/dev/null || true
    wait "${agents[$name]}" 2>/dev/null || true
    agent "$name" "${wild[@]}"
  fi
}
fire strike

# Peace: no more jobs, machines that behave, and all that waits is done.
end_submitting
come_back
for name in aa ab; do kill -KILL "${agents[$name]}" 2>/dev/null || true; wait "${agents[$name]}" 2>/dev/null || true; done
# A machine that lost a job is not given it again: the last ones have lost none.
query -c "INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, price_micro_per_cpu_second)
            SELECT gen_random_uuid(), account_id, 'peace' || n, 16, 16384, 16384, 1 FROM bench.person WHERE n <= 4;
          INSERT INTO login_token (token_hash, account_id, machine_id, expires_at)
            SELECT sha256(convert_to('token-' || name, 'UTF8')), account_id, id, now() + interval '1 day' FROM machine WHERE name LIKE 'peace%'"
query -c "SELECT id, 'token-' || name FROM machine WHERE name LIKE 'peace%'" >"$scratch/machines.peace"
agent peace
await_all_done
kill -TERM "${agents[peace]}"
wait "${agents[peace]}" || true

check_jobs
sort -u "$scratch"/journal.* | awk '$1 == "acknowledged" && $4 == "completed" { print $2, $3 }' | sort -u >"$scratch/told"
query -c "CREATE TABLE bench.told (job_id uuid, number int)" -c "\copy bench.told FROM '$scratch/told' WITH (DELIMITER ' ')"

none "every completed job has its result, of its last attempt" \
  "SELECT j.id FROM job j WHERE j.state = 'completed' AND NOT EXISTS (SELECT FROM job_file f WHERE f.job_id = j.id AND f.role = 'output'
     AND f.attempt_number = j.attempt_number AND convert_from(substr(f.inline_bytes, 1, 36), 'SQL_ASCII') = j.id::text)"
none "what an agent was told is recorded, is" \
  "SELECT job_id, number FROM bench.told EXCEPT SELECT job_id, number FROM attempt WHERE outcome = 'completed'"
check_ledger
