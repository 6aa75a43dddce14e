#!/usr/bin/env bash
# Two stacks run at once without noticing each other, and stopping one leaves the other alone.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

new_state one
one=$state
new_state two
two=$state
up "$one" & first=$!
up "$two"
wait "$first"
mapfile -t traces < <(traces_of "$one"; traces_of "$two")

[[ $(from_env "$one" REMOTIST_URL) != $(from_env "$two" REMOTIST_URL) ]] || fail "both stacks have the same address"
answers "$one" || fail "the first stack does not answer"
answers "$two" || fail "the second stack does not answer"
[[ $(stat -c %a "$one") == 700 ]] || fail "the state folder is open to others"
[[ $(stat -c %a "$one/env") == 600 ]] || fail "the env file is open to others"

# Run again, it starts nothing and says so.
before=$(pid_of "$one" market)
[[ $(up "$one") == *"market runs (pid $before)"* ]] || fail "a second script/up did not see the market that runs"
[[ $(pid_of "$one" market) == "$before" ]] || fail "a second script/up started the market again"

down "$one" --wipe
[[ ! -e $one ]] || fail "--wipe left the state folder"
answers "$two" || fail "stopping the first stack stopped the second"
down "$two"
[[ -d $two ]] || fail "script/down without --wipe deleted the state folder"
expect_no_process "${traces[@]}"
down "$two" >/dev/null

# What is not a stack is not touched.
mkdir "$scratch/precious"
touch "$scratch/precious/file"
! script/down --state "$scratch/precious" --wipe 2>/dev/null || fail "script/down --wipe accepted a folder that is no stack"
! script/up --state "$scratch/precious" 2>/dev/null || fail "script/up accepted a folder that is no stack"
[[ -e $scratch/precious/file ]] || fail "a folder that is no stack was deleted"
