#!/usr/bin/env bash
# Real R jobs on real agents under fire; in the end every job was done once and paid once. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: tests/chaos/volunteers.sh [SECONDS]

As tests/chaos/dispatch.sh, but the machines are volunteer agents that run R in sandboxes: agents, their zygotes
and running guests are killed or stopped too. Afterwards every job must be completed by exactly one attempt, with
the right value in its result, paid once; and no process, guest or folder of a job may be left.
TEXT
}
case ${1:-300} in
  -h | --help) help; exit 0 ;;
  *[!0-9]*) echo "tests/chaos/volunteers.sh: SECONDS must be a number (try --help)" >&2; exit 2 ;;
esac
seconds=${1:-300}

. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib/stack.sh"
. tests/chaos/lib/fire.sh
"$bin/volunteer-agent" doctor >"$scratch/doctor" || skip "this machine cannot sandbox: $(grep MISSING "$scratch/doctor" | head -n 1)"
begin_fire 1 1
come_back --volunteers 3
cat >"$scratch/job.json" <<'JSON'
{"name": "chaos", "exec_file": "main.R", "cpu": 1, "ram": 256, "disc": 10, "price": 0.01, "submit": true,
 "code": "x <- sum(as.numeric(1:1000))\nwriteLines(format(x), 'made.txt')\nSys.sleep(0.3)\ncat('done\\n')\n"}
JSON
begin_submitting 600 "$scratch/job.json"

agent_of() { "$bin/volunteer-agent" --state "$state/volunteer/$1" status --json 2>/dev/null; }
strike() {
  local number=$((RANDOM % 18)) name=volunteer$((RANDOM % 3 + 1)) victim
  case $number in
    [0-8]) strike_market "$number" ;;
    9 | 10 | 11) what="kill an agent"; part "$name" KILL ;;
    12) what="freeze an agent"; part "$name" STOP; sleep 5; part "$name" CONT ;;
    13 | 14)
      what="kill a zygote"
      victim=$(agent_of "$name" | jq -r .zygote_pid) || victim=0
      ((victim == 0)) || kill -KILL "$victim" 2>/dev/null || true
      ;;
    15 | 16)
      # The first process of its namespace: the oldest is the one that runs.
      what="kill a guest"
      victim=$(agent_of "$name" | jq -r .zygote_pid) || victim=0
      victim=$(pgrep -o -P "$victim" 2>/dev/null) || victim=''
      [[ -z $victim ]] || kill -KILL "$victim" 2>/dev/null || true
      ;;
    17) what="stop an agent"; part "$name" TERM ;;
  esac
}
fire strike --volunteers 3

# Peace. A machine that lost a job is not given it again: the last ones have lost none.
end_submitting
come_back --volunteers 6
await_all_done
leases_over() { [[ -z $(query -c "SELECT 1 FROM machine_session s JOIN machine m ON m.id = s.machine_id WHERE s.ended_at IS NULL AND s.cpu_cores_free <> m.cpu_cores") ]]; }
wait_until 30 leases_over || true

check_jobs
none "every completed job has its result and the file it made, of its last attempt" \
  "SELECT j.id FROM job j WHERE j.state = 'completed' AND 2 <> (SELECT count(*) FROM job_file f WHERE f.job_id = j.id
     AND f.attempt_number = j.attempt_number AND (f.role = 'output' OR (f.role = 'made' AND f.inline_bytes = '500500\012')))"
# Each holds the same value, so each is the same to the last byte: one is read, the others compared.
none "all results are alike" \
  "SELECT 'different results' FROM job_file f JOIN job j ON j.id = f.job_id WHERE f.role = 'output' AND j.state = 'completed' HAVING count(DISTINCT f.inline_bytes) <> 1"
query -c "SELECT encode(inline_bytes, 'base64') FROM job_file WHERE role = 'output' LIMIT 1" | base64 -d >"$scratch/result.rds"
[[ $(Rscript -e 'cat(readRDS(commandArgs(TRUE))$x)' "$scratch/result.rds") == 500500 ]] || fail "a result holds another value"
echo "ok  the result is right"
check_ledger

for ((i = 1; i <= 6; ++i)); do
  [[ -z $(ls -A "$state/volunteer/volunteer$i/guests") ]] || fail "volunteer$i has left folders of jobs: $(ls "$state/volunteer/volunteer$i/guests")"
done
echo "ok  no folder of a job is left"
traces=$(traces_of "$state")
down "$state" >/dev/null
mapfile -t traces <<<"$traces"
expect_no_process "${traces[@]}"
[[ -z $(pgrep -f "$bin/remotist-runner" || true) ]] || fail "a runner is left: $(pgrep -af "$bin/remotist-runner")"
echo "ok  no process is left"
