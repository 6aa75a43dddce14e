#!/usr/bin/env bash
# Every program of the checkpoint corpus and some random ones, killed and finished, one process a core. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: tests/checkpoint/kill_all.sh [--kills N] [--random N] [--minutes-max N] [--seed N] [PROGRAM…]

Kills each program of tests/checkpoint/programs, or the given ones, and random programs, and has new processes finish
them: all must end as if nobody had killed them. Needs a build, no stack. Programs come in random order.
  --kills N         of each program (default: 3)
  --random N        random programs, with at most five kills each (default: 10; none when a PROGRAM is given)
  --minutes-max N   for all of it (default: 240); what was not reached is named
  --seed N          the random order, kills and programs of another run
TEXT
}

refuse() { echo "tests/checkpoint/kill_all.sh: $*" >&2; exit 2; }
kills=3 random='' minutes=240 seed=$((RANDOM + 1)) programs=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --kills | --random | --minutes-max | --seed)
      [[ ${2:-} =~ ^[0-9]{1,9}$ ]] || refuse "$1 needs a number (try --help)"
      case $1 in --kills) kills=$((10#$2)) ;; --random) random=$((10#$2)) ;; --minutes-max) minutes=$((10#$2)) ;; --seed) seed=$((10#$2)) ;; esac
      shift
      ;;
    -h | --help) help; exit 0 ;;
    -*) refuse "unknown argument '$1' (try --help)" ;;
    *) programs+=("$1") ;;
  esac
  shift
done
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=${REMOTIST_BIN:-$PWD/build/bin}
export REMOTIST_CHECKPOINT_NATIVE=$bin/checkpoint_native.so
[[ -e $REMOTIST_CHECKPOINT_NATIVE ]] || refuse "there is no $REMOTIST_CHECKPOINT_NATIVE: run script/build"
if [[ ${#programs[@]} -eq 0 ]]; then
  mapfile -t programs < <(shuf -e --random-source=<(yes "$seed") tests/checkpoint/programs/*.R)
  random=${random:-10}
fi
echo "seed $seed, ${#programs[@]} programs with $kills kills, ${random:-0} random ones"

# kill_each KILLS PROGRAM…: a process takes some programs one after the other, few if each takes long, and stops when the time
# is up.
export seed ends=$(($(date +%s) + minutes * 60))
kill_some() {
  local left=$((ends - $(date +%s)))
  tests/checkpoint/kill.R --kills "$1" --minutes-max "$((left > 0 ? left / 60 : 0))" --seed "$seed" "${@:2}" |
    grep --line-buffered -vE '^seed |programs as they should be'
  return "${PIPESTATUS[0]}"
}
export -f kill_some
kill_each() { printf '%s\n' "${@:2}" | xargs -d '\n' -P "$(nproc)" -n "$(($1 > 20 ? 1 : 5))" bash -c 'kill_some "$@"' kill_some "$1"; }

failed=0
kill_each "$kills" "${programs[@]}" || failed=1
if ((${random:-0} > 0)); then
  folder=$(mktemp -d "${TMPDIR:-/tmp}/random-programs-XXXXXX")
  "$bin/random_programs" "$folder" "$seed" "$random"
  kill_each "$((kills < 5 ? kills : 5))" "$folder"/*.R || failed=1
  # A program that failed is wanted again.
  if ((failed == 0)); then rm -rf "$folder"; else echo "kept: $folder"; fi
fi
((failed == 0))
