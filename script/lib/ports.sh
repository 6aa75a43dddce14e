# shellcheck shell=bash
# Free TCP ports for the parts, the same ones as last time where possible. Sourced after process.sh.

declare -A port=()

ports_read() {
  local name number
  [[ -f $state/ports ]] || return 0
  while IFS='=' read -r name number; do port[$name]=$number; done <"$state/ports"
}

# Only /tmp is sure to be there and readable for every user; the lock on it is held for milliseconds,
# so that two stacks that start at once see each other's choice as far as it is bound.
ports_settle() {
  local name free_lock
  ports_read
  exec {free_lock}</tmp
  flock -w 10 "$free_lock" || true
  for name in "$@"; do
    ! alive "${name%%_*}" || continue
    if [[ -n ${port[$name]:-} ]]; then
      ! port_stays_taken "${port[$name]}" || { say "port ${port[$name]} (${name/_/ }) is taken by another program: choosing a new one"; has_moved; port[$name]=; }
    fi
    [[ -n ${port[$name]:-} ]] || port[$name]=$(port_choose)
  done
  exec {free_lock}<&-
  for name in "${!port[@]}"; do echo "$name=${port[$name]}"; done | sort | write_file "$state/ports"
}

port_taken() { [[ -n $(ss -Hltn "sport = :$1") ]]; }
# A part of ours that was killed may take a moment to let go of its own.
port_stays_taken() {
  local tries
  for ((tries = 0; tries < 50; ++tries)); do
    port_taken "$1" || return 1
    sleep 0.1
  done
}
port_open() { port_taken "$1"; }

port_choose() {
  local number attempt
  for ((attempt = 0; attempt < 200; ++attempt)); do
    number=$((20000 + SRANDOM % 12000))
    [[ " ${port[*]} " != *" $number "* ]] && ! port_taken "$number" && { echo "$number"; return; }
  done
  die "found no free port between 20000 and 32000: stop something that listens there"
}
