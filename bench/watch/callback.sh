#!/usr/bin/env bash
# From a change in a running job to the callback in the session that watches it. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: bench/watch/callback.sh [--changes N]

Starts a stack of its own with a volunteer, which is gone afterwards. A job sets a variable to the time of the day, at
moments that nothing else keeps step with; a session watches it with watchVar() and subtracts. Beside it, from the same
session, what one answer of the market takes: viewJob(). Prints figures and judges nothing.

  --changes N   (default: 500)
TEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. bench/lib/options.sh

changes=500
read_numbers changes=10:99999 -- "$@"

. bench/lib/volunteer.sh
echo "$changes changes, a volunteer, $(nproc) cores for all of it; load $(cut -d ' ' -f 1 /proc/loadavg) at the beginning"
Rscript --vanilla bench/watch/callback.R "$changes" "$scratch/job"
