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
refuse() { printf 'bench/watch/callback.sh: %s (try --help)\n' "$*" >&2; exit 2; }

changes=500
while [[ $# -gt 0 ]]; do
  case $1 in
    --changes) [[ ${2:-} =~ ^[1-9][0-9]{1,4}$ ]] || refuse "--changes needs a number from 10 to 99999"; changes=$2; shift ;;
    -h | --help) help; exit 0 ;;
    *) refuse "unknown argument '$1'" ;;
  esac
  shift
done

. bench/lib/stack.sh
bench_stack_options=(--volunteers 1)
bench_stack_start
export NO_PROXY='*' REMOTIST_URL
export R_USER_CONFIG_DIR=$scratch/config R_USER_DATA_DIR=$scratch/data
echo "$changes changes, a volunteer, $(nproc) cores for all of it; load $(cut -d ' ' -f 1 /proc/loadavg) at the beginning"
Rscript --vanilla bench/watch/callback.R "$changes" "$scratch/job"
