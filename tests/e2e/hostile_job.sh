#!/usr/bin/env bash
# Jobs that want their agent to break the protocol, or its results never to arrive: each ends at its first attempt, and the
# machine's connection stays.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

need_sandbox

new_state stack
up "$state" --volunteers 1

log_in

wish() { jq -n --arg code "$1" "{name: \"test\", exec_file: \"main.R\", cpu: 1, ram: 1024, disc: 100, price: 5, \$code} + ${2:-{\}}"; }
submit() { api PUT /job/ "$(wish "$1" '{submit: true}')" | jq -r .id; }
ended() { [[ $(api GET "/job/$1" | jq -r .state) =~ ^(completed|failed|cancelled|expired)$ ]]; }
await_state() { # JOB STATE [CODE]
  wait_until 60 ended "$1" || fail "job $1 has not ended: $(api GET "/job/$1")
$(tail -n 20 "$state"/log/volunteer*.log)"
  [[ $(api GET "/job/$1" | jq -r '"\(.state) \(.failure_code // "")"') == "$2 ${3:-}" ]] || fail "job $1 is not $2: $(api GET "/job/$1")"
  [[ $(api GET "/job/$1" | jq .attempt) == 1 ]] || fail "it took more than one attempt: $(api GET "/job/$1")"
}

echo "== words that a market does not accept"
gcc -shared -fPIC -o "$scratch/program.so" tests/e2e/hostile_job.c
sha=$(sha256sum "$scratch/program.so" | cut -d ' ' -f 1)
size=$(stat -c %s "$scratch/program.so")
curl -sSf --noproxy '*' -X PUT -H "Authorization: Bearer $token" --data-binary "@$scratch/program.so" "$(from_env "$state" REMOTIST_URL)/blob/$sha"
job=$(api PUT /job/ "$(wish 'dyn.load("program.so"); x <- y <- 0; .C("misbehave")' '{partial_results_vars: ["v", "w"]}')" | jq -r .id)
api POST "/job/$job/data" "{\"path\": \"program.so\", \"size\": $size, \"chunks\": [\"$sha\"]}"
api POST "/job/$job/submit" >/dev/null
await_state "$job" failed r_error
[[ $(api GET "/job/$job" | jq -r .failure_detail) == 'zero ? byte' ]] || fail "$(api GET "/job/$job")"
[[ $(api GET "/job/$job/partialResults/v/history" | jq '.history | length') == 2 ]] || fail "$(api GET "/job/$job/partialResults/v/history")"
[[ $(api GET "/job/$job/partialResults/w" | jq -r .words) == 'zero ? byte' ]] || fail "$(api GET "/job/$job/partialResults/w")"

echo "== files whose names cannot travel, small and large"
# shellcheck disable=SC2016
job=$(submit 'for (size in c(10, 2e5)) for (name in c("back\\slash", "line\nbreak", "escape\033")) writeBin(as.raw(sample(0:255, size, TRUE)), paste0(size, name))
dir.create("folder\n"); writeLines("x", "folder\n/file"); writeLines("x", "plain%0A"); writeLines("x", "plain\n")
writeLines("x", strrep("\n", 100))')
await_state "$job" completed
paths=$(api GET "/job/$job/files" | jq -r '.files[].path' | LC_ALL=C sort | tr '\n' ' ')
[[ $paths == '10back%5Cslash 10escape%1B 10line%0Abreak 2e+05back%5Cslash 2e+05escape%1B 2e+05line%0Abreak folder%0A/file plain%0A ' ]] || fail "files: $paths"
api GET "/job/$job/log" | jq -r '.files[].text' >"$scratch/log"
grep -q 'back\\slash is kept as 10back%5Cslash' "$scratch/log" || fail "the log says nothing of it: $(<"$scratch/log")"
[[ $(grep -c 'not among the results' "$scratch/log") == 2 ]] || fail "the log says nothing of what was left out: $(<"$scratch/log")"

echo "== files of a job that cannot stand in one folder, from before that was refused"
job=$(api PUT /job/ "$(wish 'x <- 1')" | jq -r .id)
api POST "/job/$job/data" '{"files": [{"path": "a", "text": "x"}, {"path": "b", "text": "x"}]}'
[[ $(status "$state" POST "/job/$job/data" '{"path": "a/b", "text": "x"}' "$token") == 422 ]] || fail "a and a/b: $(<"$scratch/answer")"
psql -X -q "$(from_env "$state" REMOTIST_DATABASE_URL)" -c "UPDATE job_file SET path = 'a/b' WHERE path = 'b' AND job_id = '$job'"
api POST "/job/$job/submit" >/dev/null
await_state "$job" failed invalid_files

[[ $(cat "$state"/log/volunteer*.log | grep -c 'event=connected') == 1 ]] || fail "the agent had to connect again: $(grep -h 'connect' "$state"/log/volunteer*.log | tail)"
