# shellcheck shell=bash
# A stack of a benchmark's own with one volunteer, for R programs that submit jobs. Sourced after the options are read.

. bench/lib/stack.sh
# shellcheck disable=SC2034 # stack.sh reads it
bench_stack_options=(--volunteers 1)
bench_stack_start
export NO_PROXY='*' REMOTIST_URL
export R_USER_CONFIG_DIR=$scratch/config R_USER_DATA_DIR=$scratch/data
