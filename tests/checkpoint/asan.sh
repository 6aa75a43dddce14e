#!/usr/bin/env bash
# The engine's native side with address and undefined-behaviour sanitizers, which may find nothing. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: tests/checkpoint/asan.sh [PROGRAM…]

Builds the engine's native side with the preset asan and has tests/checkpoint/engine_test.R kill and finish each construct of
engine/, or the given ones, with it. Fails if a test fails or a sanitizer finds fault with any of the processes, and shows what
it says. Takes a few minutes.
TEXT
}
case ${1:-} in -h | --help) help; exit 0 ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scratch=$(mktemp -d "${TMPDIR:-/tmp}/checkpoint-asan-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
{ cmake --preset asan && cmake --build --preset asan --target checkpoint_native_sanitized; } >"$scratch/build.log" 2>&1 ||
  { tail -n 30 "$scratch/build.log"; echo "FAILED  asan: it does not build"; exit 1; }

# R is not built with them: their libraries must be there before its own. R frees nothing when it ends, so leaks are not told.
native=$PWD/build/asan/bin/checkpoint_native_sanitized.so
preload="$(g++-14 -print-file-name=libasan.so) $(g++-14 -print-file-name=libubsan.so)"
status=0
env REMOTIST_CHECKPOINT_NATIVE="$native" LD_PRELOAD="$preload" \
  ASAN_OPTIONS="detect_leaks=0:detect_odr_violation=0:log_path=$scratch/asan" UBSAN_OPTIONS="print_stacktrace=1:log_path=$scratch/ubsan" \
  Rscript --vanilla tests/checkpoint/engine_test.R --kills 1 "$@" || status=$?
reports=("$scratch"/asan.* "$scratch"/ubsan.*)
for file in "${reports[@]}"; do
  [[ -e $file ]] || continue
  head -n 60 "$file"
  status=1
done
((status == 0)) || { echo "FAILED  asan"; exit 1; }
echo "ok      asan: nothing found"
