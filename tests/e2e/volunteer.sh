#!/usr/bin/env bash
# A lent machine runs R jobs in a sandbox, over TLS: results, logs, errors, files, pay; through kills of market and
# agent; cancelled, stopped, handed over, paused and handed back.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

need_sandbox

new_state stack
# A short lease, so that what is lost is soon found.
export REMOTIST_MARKET_BEAT_MS=2000
up "$state" --tls --volunteers 1
CURL_CA_BUNDLE=$(from_env "$state" REMOTIST_CA_FILE)
export CURL_CA_BUNDLE

log_in

submit() { # CODE [PRICE [CHECKPOINT]]: prints the job's id
  api PUT /job/ "$(jq -n --arg code "$1" --argjson price "${2:-5}" --argjson checkpoint "${3:-true}" \
    '{name: "test", exec_file: "main.R", $code, cpu: 1, ram: 1024, disc: 100, $price, $checkpoint, submit: true}')" | jq -r .id
}
state_of() { api GET "/job/$1" | jq -r .state; }
ended() { [[ $(state_of "$1") =~ ^(completed|failed|cancelled|expired)$ ]]; }
running() { [[ $(state_of "$1") == running ]]; }
await_state() { # JOB STATE
  wait_until 60 ended "$1" || fail "job $1 has not ended: $(api GET "/job/$1")
$(tail -n 20 "$state"/log/volunteer*.log)"
  [[ $(state_of "$1") == "$2" ]] || fail "job $1 is not $2: $(api GET "/job/$1"); $(text_of "$1" log)"
}
text_of() { api GET "/job/$1/$2" | jq -r '.files[] | .text // ("base64 " + .base64)'; }
# A variable of a result, deparsed.
variable() { # JOB NAME
  api GET "/job/$1/output" | jq -r '.files[0].base64' | base64 -d >"$scratch/result.rds"
  Rscript -e 'cat(deparse(readRDS(commandArgs(TRUE)[1])[[commandArgs(TRUE)[2]]]))' "$scratch/result.rds" "$2"
}
agent() { env -i PATH="$PATH" "$bin/volunteer-agent" --state "$state/volunteer/volunteer1" "$@"; }

echo "== a script that computes, prints, writes a file and reports progress"
job=$(submit 'x <- sum(1:10)
cat("hello from", basename(getwd()), "\n")
message("and this is stderr")
remotist::progress(0.5, "half")
dir.create("plots"); writeLines("a line", "plots/out.txt")
t0 <- proc.time()[[1]]; while (proc.time()[[1]] - t0 < 0.2) {}')
request=$(tr -d '\r' <"$scratch/headers" | sed -n 's/^[Xx]-[Rr]equest-[Ii]d: //p')
await_state "$job" completed
logged() { grep -qE "event=$1 job=$job .*request=$request( |\$)" "$state"/log/"$2"*.log; } # EVENT PROGRAM
for event in job_assigned job_began job_ended job_settled; do
  wait_until 10 logged "$event" volunteer || fail "the agent's $event lacks request $request: $(grep -h "$job" "$state"/log/volunteer*.log)"
done
logged job_assigned worker || fail "the worker's job_assigned lacks request $request: $(grep -h "$job" "$state"/log/worker*.log)"
[[ $(variable "$job" x) == 55L ]] || fail "x is $(variable "$job" x)"
text_of "$job" log >"$scratch/log"
grep -q 'hello from work' "$scratch/log" || fail "the log lacks stdout: $(<"$scratch/log")"
grep -q 'and this is stderr' "$scratch/log" || fail "the log lacks stderr: $(<"$scratch/log")"
[[ $(api GET "/job/$job/files" | jq -r '.files[].path') == plots/out.txt ]] || fail "files: $(api GET "/job/$job/files")"
[[ $(text_of "$job" files) == 'a line' ]] || fail "plots/out.txt holds: $(text_of "$job" files)"
cost=$(api GET /user/ | jq '100 - .balance')
[[ $(jq -n "$cost > 0 and $cost < 0.01") == true ]] || fail "a fifth of a second at a credit an hour cost $cost"

echo "== a result of megabytes, in chunks"
job=$(submit 'set.seed(1); x <- runif(4e5); n <- length(x); writeLines(rep("0123456789", 2e5), "big.txt")')
await_state "$job" completed
[[ $(api GET "/job/$job/output" | jq '.files[0].chunks | length') -ge 3 ]] || fail "no chunks: $(api GET "/job/$job/output")"
[[ $(api GET "/job/$job/files" | jq '.files[0].size') == 2200000 ]] || fail "big.txt: $(api GET "/job/$job/files")"

echo "== a script that stops with an error"
job=$(submit 'f <- function(n) stop("no ", n); y <- 3; f(y)')
await_state "$job" failed
[[ $(api GET "/job/$job" | jq -r .failure_code) == r_error ]] || fail "$(api GET "/job/$job")"
text_of "$job" error | grep -o '{.*}' | head -n 1 >"$scratch/error.json"
[[ $(jq -r .message "$scratch/error.json") == 'no 3' ]] || fail "error.json: $(<"$scratch/error.json")"
[[ $(jq -r .call "$scratch/error.json") == 'f(y)' ]] || fail "error.json: $(<"$scratch/error.json")"
api GET "/job/$job/error" | jq -e '.files[] | select(.path == "error.rds")' >/dev/null || fail "there is no error.rds"

echo "== a price that is used up"
job=$(submit 'repeat {}' 0.0005)
await_state "$job" failed
[[ $(api GET "/job/$job" | jq -r .failure_code) == price_used_up ]] || fail "$(api GET "/job/$job")"

echo "== cancelled in the middle"
job=$(submit 'cat("begun\n"); Sys.sleep(600)')
log_has() { text_of "$1" log | grep -q "$2"; }
wait_until 30 log_has "$job" begun || fail "the log of a running job cannot be read: $(api GET "/job/$job/log")"
api POST "/job/$job/cancel" >/dev/null
await_state "$job" cancelled
idle() { [[ $(agent status --json | jq '.jobs | length') == 0 ]]; }
wait_until 10 idle || fail "the guest goes on: $(agent status)"

echo "== the market is killed while a job runs; the job goes on"
job=$(submit 'Sys.sleep(4); x <- "through"')
wait_until 30 running "$job" || fail "$(api GET "/job/$job")"
kill -KILL "$(pid_of "$state" market)"
up "$state" >/dev/null
await_state "$job" completed
[[ $(variable "$job" x) == '"through"' ]] || fail "x is $(variable "$job" x)"
[[ $(api GET "/job/$job" | jq .attempt) == 1 ]] || fail "it took more than one attempt: $(api GET "/job/$job")"

echo "== the market is killed while a large result is on its way; the upload goes on where it was cut off"
job=$(submit 'writeBin(as.raw(sample(0:255, 4e7, TRUE)), "big.bin"); x <- unname(tools::md5sum("big.bin"))')
uploading() { [[ $(psql -X -q -A -t "$(from_env "$state" REMOTIST_DATABASE_URL)" -c "SELECT count(*) FROM blob") -gt $1 ]]; }
blobs=$(psql -X -q -A -t "$(from_env "$state" REMOTIST_DATABASE_URL)" -c "SELECT count(*) FROM blob")
wait_until 60 uploading $((blobs + 5)) || fail "nothing is uploaded: $(api GET "/job/$job")"
kill -KILL "$(pid_of "$state" market)"
up "$state" >/dev/null
await_state "$job" completed
[[ $(api GET "/job/$job" | jq .attempt) == 1 ]] || fail "it took more than one attempt: $(api GET "/job/$job")"
api GET "/job/$job/files" | jq -r '.files[0].chunks[]' | while read -r chunk; do api GET "/blob/$chunk?job=$job"; done >"$scratch/big.bin"
[[ $(variable "$job" x) == "\"$(md5sum "$scratch/big.bin" | cut -d ' ' -f 1)\"" ]] || fail "the file that arrived is another"

echo "== the agent is killed while a job runs; nothing of it stays, and the job is run by another"
job=$(submit 'Sys.sleep(3); x <- "again"')
wait_until 30 running "$job" || fail "$(api GET "/job/$job")"
zygote=$(agent status --json | jq .zygote_pid)
kill -KILL "$(pid_of "$state" volunteer1)"
gone() { [[ ! -e /proc/$1 ]]; }
wait_until 10 gone "$zygote" || fail "the zygote outlives its agent"
up "$state" --volunteers 2 >/dev/null
await_state "$job" completed
[[ $(variable "$job" x) == '"again"' ]] || fail "x is $(variable "$job" x)"
up "$state" --volunteers 1 >/dev/null

echo "== stop: a job without checkpoints is finished first"
job=$(submit 'Sys.sleep(3); x <- "finished"' 1 false)
wait_until 30 running "$job" || fail "$(api GET "/job/$job")"
agent stop
await_state "$job" completed
agent status && fail "status says that an agent runs"
[[ -z $(ls -A "$state/volunteer/volunteer1/guests") ]] || fail "a job's folder is left"

echo "== stop: another job is handed over, and goes on elsewhere from where it was"
up "$state" --volunteers 1 >/dev/null
loop='cat("begun\n"); n <- 0; for (i in 1:400) { n <- n + i; Sys.sleep(0.02) }; x <- n'
job=$(submit "$loop")
wait_until 30 log_has "$job" begun || fail "the log of a running job cannot be read: $(api GET "/job/$job/log")"
agent stop
[[ $(state_of "$job") == queued ]] || fail "it was not handed over: $(api GET "/job/$job")"
[[ $(api GET "/job/$job/checkpoint" | jq '.checkpoints | length') == 1 ]] || fail "it has no checkpoint: $(api GET "/job/$job/checkpoint")"
up "$state" --volunteers 2 >/dev/null
await_state "$job" completed
[[ $(variable "$job" x) == 80200 ]] || fail "x is $(variable "$job" x)"
[[ $(api GET "/job/$job/attempts" | jq '.attempts | max_by(.number) | .resumed_from') == 1 ]] || fail "it began again: $(api GET "/job/$job/attempts")"
[[ $(text_of "$job" log | grep -c begun) == 1 ]] || fail "its log: $(text_of "$job" log)"

echo "== pause and resume: a job stops, and goes on"
up "$state" --volunteers 1 >/dev/null
job=$(submit "$loop")
wait_until 30 log_has "$job" begun || fail "the log of a running job cannot be read: $(api GET "/job/$job/log")"
agent pause
frozen() { [[ $(api GET "/job/$job/checkpoint" | jq '.checkpoints | length') == 1 ]]; }
wait_until 20 frozen || fail "it took no checkpoint: $(api GET "/job/$job")"
agent status | grep -q paused || fail "status does not show the pause: $(agent status)"
cpu() { agent status --json | jq '.jobs[0].cpu_ms'; }
before=$(cpu)
sleep 2
[[ $(cpu) == "$before" ]] || fail "a paused job goes on"
agent resume
await_state "$job" completed
[[ $(variable "$job" x) == 80200 ]] || fail "x is $(variable "$job" x)"
[[ $(api GET "/job/$job" | jq .attempt) == 1 ]] || fail "it took more than one attempt: $(api GET "/job/$job")"

echo "== stop --now: what runs is handed back"
up "$state" >/dev/null
job=$(submit 'Sys.sleep(3); x <- "elsewhere"')
wait_until 30 running "$job" || fail "$(api GET "/job/$job")"
agent stop --now
[[ $(state_of "$job") == queued ]] || fail "it was not handed back: $(api GET "/job/$job")"
up "$state" --volunteers 2 >/dev/null
await_state "$job" completed

echo "== what an owner gets wrong is told"
agent start >"$scratch/out" 2>&1 && fail "two agents of one machine"
grep -q 'running already' "$scratch/out" || fail "a second agent: $(<"$scratch/out")"
agent add-machine >"$scratch/out" 2>&1 && fail "a machine was lent twice"
grep -q 'lent already' "$scratch/out" || fail "add-machine: $(<"$scratch/out")"
echo wrong-password | "$bin/volunteer-agent" --state "$scratch/other" login --url "$(from_env "$state" REMOTIST_URL)" --ca-file "$CURL_CA_BUNDLE" --email client@example.org >"$scratch/out" 2>&1 && fail "a wrong password was taken"
grep -q wrong_credentials "$scratch/out" || fail "a wrong password: $(<"$scratch/out")"
echo any-password | "$bin/volunteer-agent" --state "$scratch/other" login --url "$(from_env "$state" REMOTIST_URL)" --email client@example.org >"$scratch/out" 2>&1 && fail "a certificate of nobody known was taken"
grep -qi certificate "$scratch/out" || fail "an unknown certificate: $(<"$scratch/out")"
# An address of this machine that does not look like one.
plain=http://0.0.0.0:$(from_env "$state" REMOTIST_URL | sed 's/.*://')
echo any-password | "$bin/volunteer-agent" --state "$scratch/other" login --url "$plain" --email client@example.org >"$scratch/out" 2>&1 && fail "a login without TLS at a port that speaks it"
grep -q 'warning: your password .* as plain text' "$scratch/out" || fail "a login over http to another machine: $(<"$scratch/out")"
grep -q 'may expect TLS' "$scratch/out" || fail "http at a port that speaks TLS: $(<"$scratch/out")"
"$bin/volunteer-agent" --state "$scratch/other" start >"$scratch/out" 2>&1 && fail "it started without a login"
grep -q 'not logged in' "$scratch/out" || fail "start without a login: $(<"$scratch/out")"

agent_pid=$(pid_of "$state" volunteer1)
memory=$(agent status --json | jq '.agent_pss_kb')
echo "== memory: $(agent status | grep memory)"
((memory < 64 * 1024)) || fail "the agent has $memory kB"
tr '\0' '\n' <"/proc/$agent_pid/environ" | grep -i token && fail "a token is in the environment"
tr '\0' '\n' <"/proc/$agent_pid/cmdline" | grep -i remotist_ && fail "a token is on the command line"
[[ $(stat -c %a "$state/volunteer/volunteer1/machine.json") == 600 ]] || fail "others may read the machine's token"
traces=$(traces_of "$state")
down "$state" >/dev/null
mapfile -t traces <<<"$traces"
expect_no_process "${traces[@]}"
