#!/usr/bin/env bash
# Every program of the checkpoint corpus and many random ones, killed again and again. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: tests/chaos/checkpoints.sh [--kills N] [--random N] [--minutes-max N] [--seed N] [PROGRAM…]

Kills each program of tests/checkpoint/programs, or the given ones, and random programs, and has new processes finish
them: all must end as if nobody had killed them. Then the engine's native side under
valgrind. Needs a build, no stack. One process a core; programs come in random order.
  --kills N         of each program (default: 100)
  --random N        random programs, with five kills each (default: 200; none when a PROGRAM is given)
  --minutes-max N   for all of it (default: 240); what was not reached is named
  --seed N          the random order, kills and programs of another run
TEXT
}

kills=100 random='' minutes=240 seed=$((RANDOM + 1)) programs=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --kills | --random | --minutes-max | --seed)
      [[ ${2:-} =~ ^[0-9]{1,6}$ ]] || { echo "tests/chaos/checkpoints.sh: $1 needs a number (try --help)" >&2; exit 2; }
      case $1 in --kills) kills=$2 ;; --random) random=$2 ;; --minutes-max) minutes=$2 ;; --seed) seed=$2 ;; esac
      shift
      ;;
    -h | --help) help; exit 0 ;;
    -*) echo "tests/chaos/checkpoints.sh: unknown argument '$1' (try --help)" >&2; exit 2 ;;
    *) programs+=("$1") ;;
  esac
  shift
done
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=${REMOTIST_BIN:-$PWD/build/bin}
export REMOTIST_CHECKPOINT_NATIVE=$bin/checkpoint_native.so
[[ -e $REMOTIST_CHECKPOINT_NATIVE ]] || { echo "tests/chaos/checkpoints.sh: there is no $REMOTIST_CHECKPOINT_NATIVE: run script/build" >&2; exit 1; }
if [[ ${#programs[@]} -eq 0 ]]; then
  mapfile -t programs < <(shuf -e --random-source=<(yes "$seed") tests/checkpoint/programs/*.R)
  random=${random:-200}
fi
echo "seed $seed, ${#programs[@]} programs with $kills kills, ${random:-0} random ones"

# kill_all KILLS AT_ONCE PROGRAM…: a process takes AT_ONCE programs one after the other, and stops when the time is up.
export seed ends=$(($(date +%s) + minutes * 60))
kill_some() {
  local left=$((ends - $(date +%s)))
  tests/checkpoint/kill.R --kills "$1" --minutes-max "$((left > 0 ? left / 60 : 0))" --seed "$seed" "${@:2}" |
    grep --line-buffered -vE '^seed |programs as they should be'
  return "${PIPESTATUS[0]}"
}
export -f kill_some
kill_all() { printf '%s\n' "${@:3}" | xargs -d '\n' -P "$(nproc)" -n "$2" bash -c 'kill_some "$@"' kill_some "$1"; }

failed=0
kill_all "$kills" 1 "${programs[@]}" || failed=1
if ((${random:-0} > 0)); then
  rm -rf build/random-programs
  "$bin/random_programs" build/random-programs "$seed" "$random"
  kill_all 5 10 build/random-programs/*.R || failed=1
fi
tests/checkpoint/valgrind.sh || failed=1
((failed == 0))
