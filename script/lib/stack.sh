# shellcheck shell=bash
# A stack: the state folder that holds everything of one private market. Sourced, never run.
#
#   stack_id    marks the stack's processes and its node's name
#   ports       NAME=NUMBER, one a line          run/    NAME.pid: pid, then its start time
#   env         what clients and tests need      log/    NAME.log
#   secret/     passwords and URLs with them     blobs/  the market's files
#   postgres/   data (a link when root)          socket  link to the folder of the Unix socket
#   rabbitmq/   node, configuration, cookie      tls/    private CA, certificate (with --tls)
#   markets     how many (with --markets)        haproxy.cfg   with --tls or more than one market

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=script/${0##*/}
[[ $0 != */lib/* ]] || program=script/lib/${0##*/}

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { warn "$@"; exit 1; }
refuse() { warn "$* (try --help)"; exit 2; }

# wait_until SECONDS COMMAND…: polls until COMMAND succeeds; fails when the time is over.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}

random_hex() { od -An -v -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# write_file PATH: standard input, in place at once or not at all.
write_file() {
  cat >"$1.new"
  mv -f "$1.new" "$1"
}

is_stack() { [[ -f $1/stack_id ]]; }

# Sets $state to the absolute path of the folder named on the command line.
state_choose() {
  state=$(realpath -m -- "${1:-$repo/.stack}")
  [[ $state != *[\'\"\\\$\`]* && $state != *$'\n'* ]] || refuse "the state folder's name may not contain quotes, backslashes, dollars or line breaks: $state"
}

# Makes the folder a stack unless it is one already.
state_create() {
  if [[ -e $state ]] && ! is_stack "$state" && { [[ ! -d $state ]] || [[ -n $(ls -A "$state") ]]; }; then
    die "$state exists and is not a stack, so nothing was touched: name a folder that is new or empty"
  fi
  mkdir -p "$state" || die "cannot make the state folder $state"
  state_check_owner
  chmod 0700 "$state"
  is_stack "$state" || random_hex 4 | write_file "$state/stack_id"
  state_open
  mkdir -p "$state"/{run,log,secret,blobs,rabbitmq}
}

# Whether an address that running parts were told has changed, so that they must start again.
moved=no
has_moved() { moved=yes; }
must_restart() { [[ $moved == yes ]]; }

# Takes the stack for this process alone. Fails when it was deleted meanwhile.
state_open() {
  state_check_owner
  exec {lock}>>"$state/lock"
  if ! flock -n "$lock"; then
    say "waiting for another script/up or script/down of $state"
    flock -w 180 "$lock" || die "another script/up or script/down still works on $state after 3 minutes: end it and try again"
  fi
  [[ $state/lock -ef /dev/fd/$lock ]] || die "$state was deleted by somebody else meanwhile: try again"
  stack_id=$(<"$state/stack_id")
}

# For programs that only look: $state, $stack_id and the ports of a stack that exists.
state_read() {
  state_choose "$1"
  is_stack "$state" || die "$state is not a stack: start one with script/up --state $state"
  stack_id=$(<"$state/stack_id")
  ports_read
}

state_check_owner() {
  [[ -O $state ]] || die "$state belongs to user $(stat -c %U "$state"), you are $(id -un): run this as that user or name another folder with --state"
}
