# shellcheck shell=bash
# A stack of a benchmark's own, gone when the benchmark ends. Sourced; $scratch is a folder for its files.

bench_name=${0%/run}
bench_name=${bench_name##*/}
die() { printf 'script/bench %s: %s\n' "$bench_name" "$*" >&2; exit 1; }

scratch=$(mktemp -d -t remotist-bench-XXXXXX)
bench_clean_up() {
  trap '' INT TERM
  wait
  script/down --state "$scratch/stack" --wipe >/dev/null || echo "script/bench $bench_name: the stack in $scratch/stack did not stop: see script/down" >&2
  rm -rf "$scratch"
}
trap bench_clean_up EXIT
trap 'exit 130' INT TERM

# Starts it with the exported settings and these options, and reads its addresses.
bench_stack_options=()
bench_stack_start() {
  script/up --state "$scratch/stack" "${bench_stack_options[@]}" >"$scratch/up.log" 2>&1 || { cat "$scratch/up.log" >&2; exit 1; }
  # shellcheck source=/dev/null
  . "$scratch/stack/env"
}
