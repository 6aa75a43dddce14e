#!/usr/bin/env bash
# A program that is killed twice and finished, all under valgrind, which may find nothing. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: tests/checkpoint/valgrind.sh [PROGRAM.R]

Runs engine/objects.R, or the given program, through the engine under valgrind: killed after a checkpoint, gone on and
killed again, gone on to the end. Fails if valgrind finds fault with any of these processes or with those that wrote the
checkpoints, and shows what it says. Takes a minute or two; skipped where there is no valgrind.
TEXT
}
case ${1:-} in -h | --help) help; exit 0 ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
program=${1:-tests/checkpoint/engine/objects.R}
command -v valgrind >/dev/null || { echo "skipped valgrind: it is not installed: run script/bootstrap --chaos"; exit 0; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/checkpoint-valgrind-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work" "$scratch/state" "$scratch/log"

# drive WORD…: quiet, so that a log that is not empty tells a fault.
drive() {
  timeout -s KILL 600 R -d "valgrind -q --suppressions=$PWD/tests/checkpoint/valgrind.supp --log-file=$scratch/log/%p" --vanilla \
    --no-echo --file=tests/checkpoint/drive.R --args "$program" --folder "$scratch/work" --state "$scratch/state" "$@" \
    >"$scratch/said" 2>&1
}
for at in 40 3; do
  status=0
  { drive --at "$at" --die || status=$?; } 2>/dev/null  # bash tells of kills
  [[ $status -eq 137 ]] || { tail -n 20 "$scratch/said"; echo "FAILED  valgrind: not killed, but status $status"; exit 1; }
done
drive --result "$scratch/result.rds" || { tail -n 20 "$scratch/said"; echo "FAILED  valgrind: the last process did not end well"; exit 1; }
if [[ -n $(cat "$scratch"/log/*) ]]; then
  cat "$scratch"/log/* | head -n 100
  echo "FAILED  valgrind"
  exit 1
fi
echo "ok      valgrind: nothing found in $(find "$scratch/log" -type f | wc -l) processes"
