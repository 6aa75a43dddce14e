# shellcheck shell=bash
# The parts of a stack as processes: start, recognise, stop. Sourced after stack.sh.
#
# A pid alone proves nothing, because the kernel gives it to somebody else later: beside it we keep the
# start time. Children are recognised by a mark in their environment, which they inherit even when they
# leave the session as PostgreSQL's and Erlang's do.

# Prints when the process started, in ticks since the boot; nothing if it is dead or a zombie.
start_time() {
  local stat fields
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
  read -ra fields <<<"${stat##*) }"
  [[ ${fields[0]} == [ZX] ]] || echo "${fields[19]}"
}

# Prints the pid of a part that is alive; fails if it is not.
live_pid() {
  local pid start
  [[ -r $state/run/$1.pid ]] || return 1
  { read -r pid && read -r start; } <"$state/run/$1.pid" || return 1
  [[ -n $start && $(start_time "$pid") == "$start" ]] || return 1
  echo "$pid"
}

# Prints the parts of one kind that were started: market, market2 …
parts_like() {
  local file
  for file in "$state/run/$1"*.pid; do
    [[ ! -e $file ]] || basename "$file" .pid
  done
}

alive() { live_pid "$1" >/dev/null; }
dead() { ! alive "$1"; }

# Prints every live process of a part: its first one and whatever that one started.
members() {
  local process
  {
    live_pid "$1" || true
    grep -lzxF "REMOTIST_STACK_PART=$stack_id/$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true
    # PostgreSQL writes over its environment; but all its processes work in the data folder.
    if [[ $1 == postgres ]]; then
      for process in /proc/[0-9]*; do
        [[ ! $process/cwd -ef $state/postgres/data ]] || echo "${process#/proc/}"
      done
    fi
  } | sort -un
}
no_members() { [[ -z $(members "$1") ]]; }

# What every part gets from the caller's environment: no more, so that no secret slips in.
base_env=(PATH="$PATH" LANG=C.UTF-8)
for variable in HOME ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS; do
  [[ -z ${!variable:-} ]] || base_env+=("$variable=${!variable}")
done

# spawn NAME [VARIABLE=VALUE…] COMMAND…: runs a part in a session of its own, with a clean environment,
# no descriptor of ours, and its output appended to its log.
spawn() {
  local name=$1 pid fd
  shift
  (
    cd /
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      ((fd <= 2)) || exec {fd}>&-
    done
    # A background job of a shell ignores SIGINT, and so would everything below it.
    exec setsid env -i --default-signal "${base_env[@]}" "REMOTIST_STACK_PART=$stack_id/$name" "$@"
  ) </dev/null >>"$state/log/$name.log" 2>&1 &
  pid=$!
  printf '%s\n%s\n' "$pid" "$(start_time "$pid")" | write_file "$state/run/$name.pid"
}

# Fails with the end of a part's log, which says why it did not come up.
explain() {
  local name=$1 what=$2
  warn "$name $what. The end of its log, $state/log/$name.log:"
  tail -n 25 "$state/log/$name.log" 2>/dev/null | sed 's/^/    /' >&2 || true
  return 1
}

ready_or_dead() { "${@:2}" || dead "$1"; }

# await NAME SECONDS COMMAND…: waits until COMMAND says that a part is ready, or the part ends.
await() {
  local name=$1 seconds=$2
  shift 2
  wait_until "$seconds" ready_or_dead "$name" "$@" || { explain "$name" "was not ready after $seconds s"; return 1; }
  alive "$name" || { explain "$name" "ended while it started"; return 1; }
}

# bring_up NAME START READY…: starts a part unless it is alive, waits until it is READY, tells which it was.
bring_up() {
  local name=$1 start=$2 began=${EPOCHREALTIME/./}
  shift 2
  if alive "$name"; then
    await "$name" 60 "$@" || return 1
    say "$name runs (pid $(live_pid "$name"))"
  else
    sweep "$name" 5
    "$start" "$name" || return 1
    await "$name" 60 "$@" || return 1
    say "$name started (pid $(live_pid "$name"), $(((${EPOCHREALTIME/./} - began) / 1000)) ms)"
  fi
}

# stop NAME SIGNAL SECONDS: asks a part to end, then kills what is left of it.
stop() {
  local name=$1 signal=$2 seconds=$3 pid
  if pid=$(live_pid "$name"); then
    kill -s "$signal" "$pid" 2>/dev/null || true
    wait_until "$seconds" dead "$name" || warn "$name (pid $pid) did not end within $seconds s of SIG$signal: killing it"
    say "$name stopped"
  fi
  sweep "$name" "${4:-3}"
  rm -f "$state/run/$name.pid"
}

# Leaves no process of a part: orphans of one that was killed mostly see it themselves, within SECONDS.
sweep() {
  local name=$1 pid
  ! alive "$name" && wait_until "${2:-3}" no_members "$name" && return 0
  for pid in $(members "$name"); do
    kill -KILL "$pid" 2>/dev/null || true
  done
  wait_until 10 no_members "$name" || die "processes of $name cannot be killed: $(members "$name" | tr '\n' ' ')(waiting for a disc that does not answer?)"
}
