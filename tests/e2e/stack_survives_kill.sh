#!/usr/bin/env bash
# Whatever part of a stack is killed, script/up brings it back with all it knew, and script/down cleans up.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

new_state stack
up "$state" --workers 0  # a worker would take the message that is looked for
mapfile -t traces < <(traces_of "$state")

account='{"email": "ana@example.org", "password": "correct horse battery"}'
[[ $(status "$state" POST /user/register "$account") == 2?? ]] || fail "register: $(<"$scratch/answer")"
logs_in() { [[ $(status "$state" POST /user/login "$account") == 200 ]]; }
logs_in || fail "login: $(<"$scratch/answer")"
token=$(jq -r .token "$scratch/answer")
job='{"name": "hello", "exec_file": "main.R", "code": "x <- 1 + 1\n", "cpu": 1, "ram": 512, "disc": 100, "price": 1.5, "submit": true}'
submit() {
  [[ $(status "$state" PUT /job/ "$job" "$token") == 201 ]] || fail "PUT /job/: $(<"$scratch/answer")"
  id=$(jq -r .id "$scratch/answer")
}
message_waits() { script/lib/remotist-market --state "$state" peek jobs.ready | grep -qF "$id"; }
submit
wait_until 15 message_waits || fail "the job's message did not reach the queue"
job_is_there() { [[ $(status "$state" GET "/job/$id" '' "$token") == 200 && $(jq -r .state "$scratch/answer") == queued ]]; }

# kill_parts PART…: at once and without a chance to clean up.
kill_parts() {
  local part pids=()
  for part in "$@"; do pids+=("$(pid_of "$state" "$part")"); done
  kill -KILL "${pids[@]}"
}

everything=(postgres rabbitmq epmd market)
for parts in "${everything[@]}" "${everything[*]}"; do
  echo "killing $parts"
  # shellcheck disable=SC2086
  kill_parts $parts
  up "$state"
  wait_until 15 job_is_there || fail "after killing $parts the job is gone: $(<"$scratch/answer")"
done
# A broker killed right after it made the queue comes back without it, and then the market makes it anew.
submit
wait_until 120 message_waits || fail "a new job's message did not reach the queue"
wait_until 15 logs_in || fail "the user cannot log in any more: $(<"$scratch/answer")"
script/lib/rabbitmqctl --state "$state" -q list_queues name >/dev/null || fail "rabbitmqctl does not reach the node"

# A pid that somebody else has now is not ours to kill.
echo "killing everything"
kill_parts "${everything[@]}"
sleep 60 &
stranger=$!
printf '%s\n%s\n' "$stranger" 1 >"$state/run/market.pid"
down "$state"
kill -0 "$stranger" || fail "script/down killed a process that it did not start"
kill "$stranger"
expect_no_process "${traces[@]}"
