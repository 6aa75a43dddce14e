# shellcheck shell=bash
# The measurements. Sourced by run; $scratch, $here, $accounts, $machines, $cores and $chunks are set.

query() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$@" "$REMOTIST_DATABASE_URL"; }

# fresh_stack WORKERS: with the people and the machines, none of them connected.
fresh_stack() {
  script/up --state "$scratch/stack" --workers "$1" >"$scratch/up.log" 2>&1 || { cat "$scratch/up.log" >&2; exit 1; }
  # shellcheck source=/dev/null
  . "$scratch/stack/env"
  [[ $(query -c 'SHOW synchronous_commit') == on ]] || die "synchronous_commit is not on, so the figures would say nothing about commits that last"
  query -v accounts="$accounts" -v machines="$machines" -v cores="$cores" -f "$here/setup.sql"
  query -c "SELECT machine_id, 'bench-machine-' || n FROM bench.lent ORDER BY n" >"$scratch/machines"
  seq "$accounts" | sed 's/^/bench-user-/' >"$scratch/tokens"
}

# The same server's commits, in a database of their own.
pgbench_tps() {
  local url=${REMOTIST_DATABASE_URL/\/remotist\?/\/pgbench\?}
  query -c 'CREATE DATABASE pgbench'
  pgbench -q -i -s 10 "$url" >/dev/null 2>&1
  pgbench -n -b simple-update -c 8 -j 2 -T 5 "$url" 2>/dev/null | sed -n 's/^tps = \([0-9]*\).*/\1/p'
  query -c 'DROP DATABASE pgbench'
}

# submit JOBS [PAUSE_MS CONNECTIONS]: prints jobs a second; ids and times are in $scratch/submitted.
submit() { build/bin/bench_submit "$REMOTIST_URL" "$scratch/tokens" "$1" "${3:-32}" "${2:-0}" 2>&1 >"$scratch/submitted" | awk '{ printf "%.0f", $3 }'; }

# drain JOBS OPTION…: machines come, until so many are completed. The agent's report is in $scratch/report.
drain() {
  local jobs=$1
  shift
  build/bin/agent_load --machines "$scratch/machines" --socket-url "$REMOTIST_SOCKET_URL" --url "$REMOTIST_URL" \
    "${chunks[@]}" --until-completed "$jobs" "$@" >"$scratch/report" 2>"$scratch/agent.err" || die "the agent failed: $(tail -n 3 "$scratch/agent.err")"
}

# memory_of PART: the proportional share of all its processes, in MB.
memory_of() {
  local pid total=0 pss
  while read -r pid; do
    pss=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null || echo 0)
    if [[ $1 == worker ]]; then ((pss > total)) && total=$pss; else total=$((total + ${pss:-0})); fi
  done < <(grep -lzxE "REMOTIST_STACK_PART=[^/]*/$1[0-9]*" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3)
  echo $((total / 1024))
}
postgres_memory() {
  local process total=0 pss
  for process in /proc/[0-9]*; do
    [[ $process/cwd -ef $scratch/stack/postgres/data ]] || continue
    pss=$(awk '/^Pss:/ { print $2 }' "$process/smaps_rollup" 2>/dev/null || echo 0)
    total=$((total + ${pss:-0}))
  done
  echo $((total / 1024))
}

# Every job done once and paid once, with its result; fails otherwise.
check() {
  local wrong
  wrong=$(query -c "SELECT count(*) FROM job j WHERE state <> 'completed'
    OR (SELECT count(*) FROM attempt a WHERE a.job_id = j.id AND a.outcome = 'completed') <> 1
    OR (SELECT count(*) FROM ledger_transfer t WHERE t.job_id = j.id AND t.reason IN ('pay', 'release')) <> 1
    OR NOT EXISTS (SELECT FROM job_file f WHERE f.job_id = j.id AND f.role = 'output')")
  [[ $wrong == 0 ]] || die "$wrong jobs were not completed exactly once: the figures are worth nothing"
}
audit() {
  query -c "UPDATE account SET role = 'admin' WHERE id = (SELECT account_id FROM bench.person WHERE n = 1)"
  curl -sS --noproxy '*' -H 'Authorization: Bearer bench-user-1' "$REMOTIST_URL/admin/audit" >"$scratch/audit"
  jq -e 'all(.invariants[]; .broken_by == null)' "$scratch/audit" >/dev/null || die "the ledger is not balanced: $(<"$scratch/audit")"
}

measure_drain() {
  local workers=$1 size=$2 tps=$3 submitted matched completed memory before
  submitted=$(submit "$size")
  memory="$(memory_of market), $(memory_of worker), $(memory_of rabbitmq), $(postgres_memory)"
  before=$(query -c 'SELECT now()')
  drain "$size"
  matched=$(query -c "SELECT round(count(*) / extract(epoch FROM max(assigned_at) - min(assigned_at)))
                      FROM attempt WHERE assigned_at > '$before'")
  completed=$(jq -r '.completed_per_second | round' "$scratch/report")
  check
  printf '%7s %7s %12s %12s %12s %14s %8s%%   %s\n' "$workers" "$size" "$submitted" "$matched" "$completed" "$tps" \
    "$((100 * completed / tps))" "$memory"
}

# measure_meanwhile JOBS: completed and submitted a second while both go on.
measure_meanwhile() {
  local began rate
  began=$(date +%s.%N)
  drain "$1" &
  rate=$(submit "$1")
  # What was completed by the time the last one was submitted.
  awk -v jobs="$(query -c "SELECT count(*) FROM job WHERE ended_at > to_timestamp($began)")" -v began="$began" -v now="$(date +%s.%N)" -v rate="$rate" \
    'BEGIN { printf "meanwhile: %.0f completed/s while %d/s were being submitted\n", jobs / (now - began), rate }'
  wait $!
  check
}

# measure_idle JOBS: one at a time.
measure_idle() {
  drain "$1" --journal "$scratch/journal" &
  sleep 2
  submit "$1" 20 1 >/dev/null
  wait $!
  awk 'NR == FNR { if ($1 == "assigned") at[$2] = $4; next } $1 in at { print (at[$1] - $2) / 1000 }' "$scratch/journal" "$scratch/submitted" |
    sort -g | awk '{ v[NR] = $1 } END { printf "idle: submit to assignment on the agent p50 %.1f ms, p99 %.1f ms (%d jobs)\n", v[int(NR / 2) + 1], v[int(NR * 0.99) + 1], NR }'
}
