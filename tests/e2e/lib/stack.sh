# shellcheck shell=bash
# What the tests of the stack share: folders that are cleaned up, requests, a look at processes. Sourced.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
cd "$repo" || exit 1
scratch=$(mktemp -d /tmp/remotist-e2e-XXXXXX)
states=()

# Whatever happens, no stack outlives its test.
clean_up() {
  local state
  for state in "${states[@]}"; do
    script/down --state "$state" --wipe >/dev/null 2>&1 || true
  done
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
skip() {
  echo "$*"
  exit 77
}

# new_state NAME: sets $state to a folder whose stack is removed at the end.
new_state() {
  state=$scratch/$1
  states+=("$state")
}

up() { script/up --state "$@" || fail "script/up --state $* failed"; }
down() { script/down --state "$@" || fail "script/down --state $* failed"; }

# from_env STATE VARIABLE: one value of the stack's env file.
from_env() {
  # shellcheck source=/dev/null
  (. "$1/env" && printf '%s\n' "${!2}")
}

pid_of() { head -n 1 "$1/run/$2.pid"; }

# wait_until SECONDS COMMAND…
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

# status STATE METHOD PATH [JSON] [TOKEN]: prints the HTTP status; the answer is in $scratch/answer, its headers in
# $scratch/headers.
status() {
  local options=(-sS --noproxy '*' --max-time 30 -o "$scratch/answer" -D "$scratch/headers" -w '%{http_code}' -X "$2")
  [[ -z ${4:-} ]] || options+=(-H 'Content-Type: application/json' -d "$4")
  [[ -z ${5:-} ]] || options+=(-H "Authorization: Bearer $5")
  curl "${options[@]}" "$(from_env "$1" REMOTIST_URL)$3" || true
}
answers() { [[ $(status "$1" GET /healthz) == 200 ]]; }

# need_sandbox: skips the test on a machine that cannot sandbox. Sets $bin.
need_sandbox() {
  bin=${REMOTIST_BIN:-build/bin}
  "$bin/volunteer-agent" doctor >"$scratch/doctor" || skip "this machine cannot sandbox: $(grep MISSING "$scratch/doctor" | head -n 1)"
}

# api METHOD PATH [JSON]: prints what the stack in $state answers to the client of log_in; fails unless it is 2xx.
token=''
api() {
  local code
  code=$(status "$state" "$1" "$2" "${3:-}" "$token")
  [[ $code == 2?? ]] || fail "$1 $2 was answered with $code: $(<"$scratch/answer")"
  cat "$scratch/answer"
}
# log_in: as a new client; sets $token.
log_in() {
  local who='{"email": "client@example.org", "password": "correct horse"}'
  api POST /user/register "$who" >/dev/null
  token=$(api POST /user/login "$who" | jq -r .token)
}

# The words by which a process of the stack can be told, however it came about: call before it is wiped.
traces_of() {
  printf '%s\n' "$1" "$(<"$1/stack_id")"
  [[ ! -L $1/postgres ]] || readlink "$1/postgres"
}

# processes_with WORD…: every live process that has one of them in its command, environment or folder.
# The words come to grep as a file, or it would find itself.
processes_with() {
  local pid command
  {
    grep -alzF -f <(printf '%s\n' "$@") /proc/[0-9]*/{cmdline,environ} || true
    find /proc/[0-9]* -maxdepth 1 -name cwd -printf '%p %l\n' | grep -F -f <(printf '%s\n' "$@") || true
  } 2>/dev/null | cut -d/ -f3 | sort -un | while read -r pid; do
    # One that has ended meanwhile is none, nor is one that is about to be reaped.
    { command=$(tr '\0' ' ' <"/proc/$pid/cmdline"); } 2>/dev/null || continue
    grep -q '^State:.[^XZ]' "/proc/$pid/status" 2>/dev/null || continue
    echo "$pid $command"
  done
}
expect_no_process() {
  local left
  left=$(processes_with "$@")
  [[ -z $left ]] || fail "processes are left:"$'\n'"$left"
}
