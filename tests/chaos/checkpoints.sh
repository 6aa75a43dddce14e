#!/usr/bin/env bash
# Every program of the checkpoint corpus killed a hundred times, many random ones, and the engine's native side under valgrind
# and with sanitizers: an hour or two. Takes the options of tests/checkpoint/kill_all.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../checkpoint"
failed=0
./kill_all.sh --kills 100 --random 200 "$@" || failed=1
./valgrind.sh || failed=1
./asan.sh || failed=1
((failed == 0))
