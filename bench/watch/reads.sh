#!/usr/bin/env bash
# Reads of a watched variable's newest value from concurrent clients, beside GET /job/{id} in the same run. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: bench/watch/reads.sh [--clients N] [--rounds N]

Starts a stack of its own, which is gone afterwards, with 64 accounts that have a job with a watched variable each.
Measures at least 1,000, 10,000 and 100,000 reads of
  GET /job/{id}/partialResults/{variable}   the newest value, a number as R serialises it
  GET /job/{id}                             authenticated like the other
by wrk. The two take turns, because machines are noisy; a figure is the median of its rounds, a ratio the median of the
rounds' ratios. Prints a table and judges nothing: it fails only when an answer was an error.

  --clients N   connections at once (default: 64)
  --rounds N    of each number of reads (default: 3)
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. bench/lib/options.sh

clients=64 rounds=3
read_numbers clients=1:9999 rounds=1:99 -- "$@"

accounts=64
export REMOTIST_MARKET_REGISTRATIONS_PER_ADDRESS_HOUR_MAX=$accounts
. bench/lib/stack.sh
here=bench/market
. bench/market/setup.sh

# A job that watches fit$loss and fit$n, of which the first has a history of 100 records, as a machine's would be.
watched_create() {
  targets_create
  query <<'SQL'
UPDATE job SET watched_variables = '{fit$loss,fit$n}';
CREATE TABLE bench.value AS SELECT '\x580a0000000300040502000305000000000000000e000000013ff0000000000000'::bytea AS bytes;
INSERT INTO watched_variable (job_id, variable, account_id, newest_sequence, newest_attempt, newest_number, newest_at,
                              live_sequence, records, bytes)
SELECT id, 'fit$loss', account_id, 100, 1, 100, now(), 100, 100, 100 * watched_record_charge(octet_length(bytes))
FROM job, bench.value;
INSERT INTO watched_record (job_id, variable, sequence, attempt_number, number, changes, changed_at, kind, size_bytes, inline_bytes)
SELECT id, 'fit$loss', s, 1, s, 1, now(), 'value', octet_length(bytes), bytes FROM job, bench.value, generate_series(1, 100) s;
SQL
}

# reads KIND COUNT SECONDS: one round of wrk, a line of figures in the file of that name. wrk ends after a time, not a
# number: what is missing is read in another second.
reads() {
  local output=$scratch/wrk.$1 seconds=$3 answers errors broken failures
  for (( ; ; ++seconds)); do
    wrk -t 1 -c "$clients" -d "${seconds}s" --timeout 10s -s bench/watch/reads.lua "$REMOTIST_URL" -- "$1" "$scratch/targets" >"$output" 2>&1 ||
      { cat "$output" >&2; die "wrk failed"; }
    read -r _ _ _ answers errors broken < <(sed -n 's/^figures //p' "$output")
    failures=$((errors + broken))
    ((failures == 0)) || die "$1: $answers answers, $failures failures; the market's log ends with
$(tail -n 5 "$scratch/stack/log/market.log")"
    ((answers < $2)) || break
  done
  sed -n 's/^figures //p' "$output" >>"$scratch/$1.$2"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
column() { awk -v n="$2" '{ print $n }' "$scratch/$1" | median; }

row() {
  printf '%9d %14.0f %8.2f %8.2f %10d %14.0f %8.2f %8.2f %7.0f %%\n' "$1" \
    "$(column "partial.$1" 1)" "$(column "partial.$1" 2)" "$(column "partial.$1" 3)" \
    "$(awk '{ sum += $5 + $6 } END { print sum }' "$scratch/partial.$1")" \
    "$(column "job.$1" 1)" "$(column "job.$1" 2)" "$(column "job.$1" 3)" \
    "$(paste -d ' ' "$scratch/partial.$1" "$scratch/job.$1" | awk '{ print 100 * $1 / $7 }' | median)"
}

echo "starting a stack, $accounts accounts with a watched job each"
bench_stack_start
watched_create
for kind in job partial; do reads "$kind" 1 3; done
counts=(1000 10000 100000)
for count in "${counts[@]}"; do
  for ((round = 1; round <= rounds; ++round)); do
    for kind in job partial; do reads "$kind" "$count" "$(awk -v n="$count" '{ print int(1.1 * n / $1) + 1 }' "$scratch/$kind.1")"; done
  done
done

echo
echo "$clients clients at once, $(nproc) cores for all of it, load $(cut -d ' ' -f 1 /proc/loadavg) at the end; target: at least 70 %, no failure"
echo
printf '%9s %33s %10s %32s\n' '' 'partial result' '' 'GET /job/{id}'
printf '%9s %14s %8s %8s %10s %14s %8s %8s %9s\n' reads reads/s 'p50 ms' 'p99 ms' failures requests/s 'p50 ms' 'p99 ms' ratio
for count in "${counts[@]}"; do row "$count"; done
