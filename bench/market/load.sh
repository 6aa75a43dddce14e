# shellcheck shell=bash
# Load on the market and on its database. Each round adds a line to the file of its name in $figures. Sourced by run.

pgbench=/usr/lib/postgresql/17/bin/pgbench

# http healthz|get|put: one round of wrk.
http() {
  local line answers refused broken arguments=("$1" "$scratch/targets")
  [[ $1 != put ]] || arguments+=("$scratch/body")
  wrk -t 1 -c "$http_connections" -d "${seconds}s" --timeout 10s -s "$here/load.lua" "$REMOTIST_URL" -- "${arguments[@]}" >"$scratch/wrk.$1" 2>&1 ||
    { cat "$scratch/wrk.$1" >&2; die "wrk failed"; }
  line=$(sed -n 's/^figures //p' "$scratch/wrk.$1")
  read -r _ _ _ answers refused broken <<<"$line"
  ((answers > 0 && refused == 0 && broken == 0)) ||
    die "$1: $answers answers, $refused of them errors, $broken connections broken or silent; the market's log ends with
$(tail -n 5 "$scratch/stack/log/market.log")"
  echo "$line" >>"$figures/$1"
}

# script_of QUERY: the query of sql/queries/job.sql as pgbench reads it. $1 becomes :p1 and so on. Each of pgbench's
# connections speaks for one account for 50 transactions, then for another.
script_of() {
  cat <<'TEXT'
\if :left = 0
\set n random(1, :accounts)
SELECT token_hash AS p1, job AS p2 FROM bench.target WHERE n = :n \gset
\set left 50
\endif
\set left :left - 1
TEXT
  sed -n "/^-- name: $1\$/,/^-- name: /p" sql/queries/job.sql | sed '/^--/d; s/\$\([0-9]\{1,\}\)/:p\1/g'
  echo ';'
}

# sql job_view|job_create: one round of pgbench, after a second in which its connections read catalogs and plan.
sql() {
  local output=$scratch/pgbench.$1 jobs processed
  script_of "$1" >"$scratch/$1.sql"
  # Every request makes new ids; it has no deadline and no idempotency key.
  [[ $1 == job_view ]] || sed -i -E 's/:p(2|15|16|17|18)::uuid/bench.id()/g; s/:p(9|11|12)\b/NULL/g' "$scratch/$1.sql"
  jobs=$(query -c 'SELECT count(*) FROM job')
  "$pgbench" -n -M prepared -c "$REMOTIST_MARKET_DATABASE_CONNECTIONS" -T $((seconds + 2)) -P 1 -f "$scratch/$1.sql" \
    -D left=0 -D accounts="$accounts" -D p3=bench -D p4=main.R -D p5=1 -D p6=512 -D p7=100 -D p8=1000000 \
    -D p10='{}' -D p13="\\x$(od -An -v -tx1 "$here/job.R" | tr -d ' \n')" -D p14=true -D p19=100000 -D p20=1000 -D p21=50000 -D p22=true \
    "$REMOTIST_DATABASE_URL" >"$output" 2>&1 || { cat "$output" >&2; die "pgbench failed"; }
  processed=$(sed -n 's/^number of transactions actually processed: //p' "$output")
  grep -q '^number of failed transactions: 0 ' "$output" || { cat "$output" >&2; die "transactions of pgbench failed"; }
  jobs=$(($(query -c 'SELECT count(*) FROM job') - jobs))
  [[ $1 == job_view || $jobs == "$processed" ]] || die "pgbench counts $processed transactions, which made $jobs jobs"
  awk -v n="$seconds" '/^progress:/ && ++line > 1 && line <= n + 1 { sum += $4; ++lines } END { print sum / lines }' "$output" >>"$figures/$1"
}

# The market connects to the database when it first needs to.
warm_up() {
  local figures=$scratch/warm_up seconds=1
  mkdir "$figures"
  http get
  http put
  outbox_drained
}

# What a round left in the outbox is not to burden the next.
outbox_drained() {
  local deadline=$((SECONDS + 120))
  until [[ $(query -c 'SELECT count(*) FROM outbox') == 0 ]]; do
    ((SECONDS < deadline)) || die "the outbox did not drain; the market's log ends with
$(tail -n 5 "$scratch/stack/log/market.log")"
    sleep 0.2
  done
}

lag_buckets() {
  curl -sS --fail --noproxy '*' "$REMOTIST_URL/metrics" | sed -nE 's/^remotist_event_loop_lag_seconds_bucket\{le="([^"]+)"\} (.*)/\1 \2/p'
}

# GET and PUT together for three rounds' time, and the event loops' lag before and after.
both() {
  local figures=$scratch/both seconds=$((3 * seconds)) other
  mkdir "$figures"
  lag_buckets >"$scratch/lag_before"
  http get & other=$!
  http put
  wait "$other" || exit 1
  lag_buckets >"$scratch/lag_after"
}
