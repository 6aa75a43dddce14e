#!/usr/bin/env bash
# What an agent needs while a job changes a watched vector of 100 MB. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: bench/watch/memory.sh [--seconds S]

Starts a stack of its own with a volunteer, which is gone afterwards. A job writes to a watched vector of 100 MB in a tight
loop; prints the most memory that the agent has had, before and at the end, and how many values came. Judges nothing.

  --seconds S   how long the job runs (default: 60)
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. bench/lib/options.sh

seconds=60
read_numbers seconds=1:9999 -- "$@"

. bench/lib/volunteer.sh
agent=$(head -n 1 "$scratch/stack/run/volunteer1.pid")
most_mb() { awk '/^VmHWM:/ { printf "%.1f", $2 / 1024 }' "/proc/$agent/status"; }
before=$(most_mb)
values=$(Rscript --vanilla bench/watch/memory.R "$seconds" "$scratch/job")
echo "the most memory of an agent: $before MB without a job, $(most_mb) MB after $values values of 100 MB in $seconds s (target: 64 MB and what it may keep of values)"
