# shellcheck shell=bash
# What is asked for: accounts with a job each. Sourced by run.

query() { psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$REMOTIST_DATABASE_URL" "$@"; }

# send METHOD PATH BODY [TOKEN]: prints the answer.
send() { curl -sS --fail-with-body --noproxy '*' -X "$1" ${4:+-H "Authorization: Bearer $4"} -d "$3" "$REMOTIST_URL$2"; }

# account_create NUMBER: prints its token and the id of a job of its own.
account_create() {
  local who="{\"email\": \"bench$1@example.org\", \"password\": \"no secret $1\"}" token job
  send POST /user/register "$who" >/dev/null
  token=$(send POST /user/login "$who" | jq -er .token)
  job=$(send PUT /job/ "@$scratch/body" "$token" | jq -er .id)
  echo "$token $job"
}

# Targets: for wrk a file, for pgbench the same as a table. The ids that pgbench makes sort by time as the market's own
# do, or it would pay for index pages that the market never touches.
targets_create() {
  jq -n --rawfile code "$here/job.R" \
    '{name: "bench", exec_file: "main.R", $code, cpu: 1, ram: 512, disc: 100, price: 1, submit: true}' >"$scratch/body"
  export REMOTIST_URL scratch
  export -f send account_create
  seq "$accounts" | xargs -P "$(nproc)" -n 1 bash -euo pipefail -c 'account_create "$1"' bash >"$scratch/targets" ||
    die "the accounts could not be made: $(<"$scratch/targets")"
  query -v targets="$(<"$scratch/targets")" <<'SQL'
CREATE SCHEMA bench;
CREATE FUNCTION bench.id() RETURNS uuid LANGUAGE sql VOLATILE RETURN
  (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || substr(gen_random_uuid()::text, 14))::uuid;
CREATE TABLE bench.target AS
  SELECT row_number() OVER () AS n, sha256(split_part(line, ' ', 1)::bytea) AS token_hash, split_part(line, ' ', 2)::uuid AS job
  FROM string_to_table(:'targets', E'\n') line;
ALTER TABLE bench.target ADD PRIMARY KEY (n);
SQL
}
