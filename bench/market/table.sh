# shellcheck shell=bash
# What came out. Sourced by run.

median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# column FILE NUMBER: the median of a column of figures.
column() { awk -v n="$2" '{ print $n }' "$scratch/$1" | median; }

# A line: name, file of wrk's figures, then file of pgbench's and target if there is one.
row() {
  local tps='' ratio='' target=''
  if [[ -n ${3:-} ]]; then
    tps=$(printf '%.0f' "$(column "$3" 1)")
    ratio=$(paste -d ' ' "$scratch/$2" "$scratch/$3" | awk '{ print 100 * $1 / $NF }' | median)
    printf -v ratio '%.0f %%' "$ratio"
    target="at least $4 %"
  fi
  printf '%-16s %12.0f %9.2f %9.2f %13s %8s   %s\n' "$1" "$(column "$2" 1)" "$(column "$2" 2)" "$(column "$2" 3)" "$tps" "$ratio" "$target"
}

# The 99th percentile of what the histogram gained, evenly spread within its bucket.
lag_p99_ms() {
  paste -d ' ' "$scratch/lag_before" "$scratch/lag_after" | awk '
    { edge[NR] = $3; count[NR] = $4 - $2 }
    END {
      want = 0.99 * count[NR]
      for (i = 1; i < NR && count[i] < want; ++i);
      if (edge[i] == "+Inf") { print "more than " edge[i - 1] * 1000; exit }
      low = i > 1 ? edge[i - 1] : 0; below = i > 1 ? count[i - 1] : 0
      printf "%.1f", 1000 * (low + (edge[i] - low) * (want - below) / (count[i] - below))
    }'
}

table() {
  echo
  echo "PostgreSQL $(query -c 'SHOW server_version'), synchronous_commit $(query -c 'SHOW synchronous_commit'), $REMOTIST_MARKET_DATABASE_CONNECTIONS connections of market and of pgbench each; $accounts accounts,"
  echo "$http_connections connections of wrk; $(nproc) cores for all of it, load $(cut -d ' ' -f 1 /proc/loadavg) at the end."
  echo "Market, outbox publisher and RabbitMQ run throughout: they also send what pgbench puts into the outbox."
  echo
  printf '%-16s %12s %9s %9s %13s %8s   %s\n' '' requests/s 'p50 ms' 'p99 ms' 'pgbench tps' ratio target
  row 'GET /healthz' rounds/healthz
  row 'GET /job/{id}' rounds/get rounds/job_view 40
  row 'PUT /job/' rounds/put rounds/job_create 60
  echo
  row 'GET beside PUT' both/get
  row 'PUT beside GET' both/put
  echo "event-loop lag meanwhile, p99: $(lag_p99_ms) ms (target: at most 5 ms)"
}
