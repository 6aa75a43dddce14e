# shellcheck shell=bash
# The fuzzers of script/test: each reader that is tried has tests/fuzz/NAME.cc. Sourced by script/test, whose
# variables and counts it uses.

# The most bytes of an input.
declare -A fuzzers=([frames]=600 [messages]=4096 [guest]=2048 [paths]=600 [names]=300 [bodies]=2048 [heads]=1024 [requests]=1024 [checkpoints]=800)
fuzzed_sources=(core/{websocket,websocket_handshake,protocol,protocol_text,attempt_outcome,watched_record,watched_record_json,json,json_body,problem,code,utf8,file_path,watch_name,config,digest,sha256,id,zstd,credits,job_state,token}.cc
  volunteer/sandbox/{frames,guest_message,checkpoint_file}.cc volunteer/agent/watched_records.cc market/api/{router,timestamp}.cc
  market/service/{file_list,jobs,checks,new_machine,request_bodies,request_fields,subscriber}.cc)
# Short inputs are read faster and change more with each byte, so most executions have at most so many bytes.
fuzz_short_bytes=512

fuzz_object() { echo "build/fuzz/${1//\//_}.o"; }

# The code that is tried, and only that, is watched for the ways it takes; what checks it is not. The checks of pointers
# that are left out would double the code; an access that they would report is reported by the address sanitizer, too, unless
# it hits the right memory in the wrong way, which the unit tests with the preset asan look for.
compile_for_fuzz() {
  local watch=fuzzer-no-link,
  [[ $1 != tests/* ]] || watch=
  ccache clang++-19 -std=c++23 -O2 -g1 -fno-omit-frame-pointer -I. -c "$1" -o "$(fuzz_object "$1")" \
    -fsanitize="${watch}address,undefined" -fsanitize-address-use-after-return=never \
    -fno-sanitize=null,alignment,vptr,object-size -fno-sanitize-recover=all
}

# From an archive each fuzzer links only what it needs: libFuzzer looks through all that is linked after each execution.
build_fuzz() {
  local objects=() name file
  script/bootstrap --fuzz || return 1
  mkdir -p build/fuzz
  export -f compile_for_fuzz fuzz_object
  printf '%s\n' "${fuzzed_sources[@]}" tests/fuzz/*.cc | xargs -d '\n' -P "$(nproc)" -n 1 bash -c 'compile_for_fuzz "$1"' compile_for_fuzz || return 1
  for file in "${fuzzed_sources[@]}"; do objects+=("$(fuzz_object "$file")"); done
  rm -f build/fuzz/fuzzed.a
  ar rcs build/fuzz/fuzzed.a "${objects[@]}" || return 1
  for name in "${!fuzzers[@]}"; do
    clang++-19 -fsanitize=fuzzer,address,undefined "$(fuzz_object "tests/fuzz/$name.cc")" build/fuzz/fuzzed.a -lsodium -lcrypto -lzstd -o "build/fuzz/$name" || return 1
  done
}

# libfuzzer NAME LOG OPTION…: what it says goes to the end of the log. For speed: no stacks of allocations, and little memory
# that is kept from being used again; the unit tests with the preset asan have both. The time-out is by the wall clock: on a busy machine an input may wait for long.
libfuzzer() {
  local options=(-timeout=300 -rss_limit_mb=1024 -reload=0 -artifact_prefix="build/fuzz/$1-" -seed="$fuzz_seed")
  ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=256:malloc_context_size=0:external_symbolizer_path=$(command -v addr2line):${ASAN_OPTIONS:-} \
    "build/fuzz/$1" "${options[@]}" "${@:3}" >>"$2" 2>&1 </dev/null
}

# Leaves of an earlier run's inputs those that reach something that the others do not.
merge_corpus() {
  local corpus=build/fuzz/corpus/$1
  rm -rf "$corpus.merged"
  mkdir "$corpus.merged"
  libfuzzer "$1" "$2" -merge=1 -max_len="${fuzzers[$1]}" "$corpus.merged" "$corpus" || return 1
  rm -rf "$corpus"
  mv "$corpus.merged" "$corpus"
}

# share PERCENT OF: of a number of executions or seconds; 0 and -1 mean no bound and stay.
share() { if (($2 > 0)); then echo $((($2 * $1 + 99) / 100)); else echo "$2"; fi; }

# fuzz_twice NAME LOG: nine executions of ten with short inputs, the others with long ones. Reads all of the corpus first, so
# that an input that once broke the reader and still does is found at once.
fuzz_twice() {
  local most=${fuzzers[$1]} options=(-print_final_stats=1) percent=90 corpus=build/fuzz/corpus/$1
  [[ ! -f tests/fuzz/$1.dict ]] || options+=(-dict="tests/fuzz/$1.dict")
  libfuzzer "$1" "$2" -runs=0 -max_len="$most" "$corpus" && merge_corpus "$1" "$2" || return 1
  if ((most > fuzz_short_bytes)); then
    libfuzzer "$1" "$2" "${options[@]}" -max_len="$fuzz_short_bytes" -runs="$(share 90 "$fuzz_runs")" -max_total_time="$(share 90 "$fuzz_seconds")" "$corpus" || return 1
    percent=10
  else
    percent=100
  fi
  libfuzzer "$1" "$2" "${options[@]}" -max_len="$most" -runs="$(share "$percent" "$fuzz_runs")" -max_total_time="$(share "$percent" "$fuzz_seconds")" "$corpus"
}

# run_fuzzer NAME: starts from the committed inputs and from what earlier runs found. Fails when the reader does, or when
# REMOTIST_FUZZ_RUNS executions were wanted and fewer were made.
run_fuzzer() {
  local name=$1 status=0 again executions began=$SECONDS
  local corpus=build/fuzz/corpus/$1 log=$scratch/$1.log
  mkdir -p "$corpus"
  cp tests/fuzz/corpus/"$name"/* "$corpus"
  fuzz_twice "$name" "$log" || status=$?
  executions=$(awk '/^stat::number_of_executed_units:/ { sum += $2 } END { print sum + 0 }' "$log")
  if [[ $status -eq 0 && $executions -ge $fuzz_runs ]]; then
    [[ $(grep -aE '^#[0-9]+[[:space:]]+DONE' "$log" | tail -n 1) =~ cov:\ ([0-9]+)\ ft:\ ([0-9]+)\ corp:\ ([0-9]+) ]] || true
    echo "ok      $name: $executions executions in $((SECONDS - began)) s, seed $fuzz_seed, cov ${BASH_REMATCH[1]:-?}, features ${BASH_REMATCH[2]:-?}, corpus ${BASH_REMATCH[3]:-?}"
    return
  fi
  echo "FAILED  $name (status $status): $executions executions in $((SECONDS - began)) s, seed $fuzz_seed"
  grep -avE '^#[0-9]+|^INFO:|^MERGE|^"|^#####' "$log" | tail -n 60 | cut -c 1-300 | sed 's/^/    /'
  again=$(sed -nE 's/.*Test unit written to (.*)$/\1/p' "$log" | tail -n 1)
  [[ -z $again ]] || echo "the input: $again; again: build/fuzz/$name $again; once mended, keep it in tests/fuzz/corpus/$name"
  return 1
}

# The reader of results in R: a million changed streams, or REMOTIST_FUZZ_STREAMS.
run_stream_fuzzer() {
  local library=$PWD/build/fuzz/r-lib
  mkdir -p "$library"
  if ! R CMD INSTALL --no-docs --library="$library" client-r >"$scratch/r-lib.log" 2>&1; then
    failed_in "streams: the R package" <"$scratch/r-lib.log"
    return
  fi
  REMOTIST_TEST_SEED=$fuzz_seed REMOTIST_FUZZ_LIBRARY=$library run_script streams nice Rscript --vanilla tests/fuzz/streams.R "${REMOTIST_FUZZ_STREAMS:-1000000}" build/fuzz
}

run_fuzz() {
  echo "== fuzz (REMOTIST_TEST_SEED=$fuzz_seed)"
  local name running=0 names
  local -A pids=()
  # Those with the longest inputs take longest.
  mapfile -t names < <(for name in "${!fuzzers[@]}"; do echo "${fuzzers[$name]} $name"; done | sort -rn | cut -d ' ' -f 2)
  for name in "${names[@]}"; do
    # Of two that end at once one is waited for later.
    ((running < $(nproc))) || { wait -n || true; running=$((running - 1)); }
    (trap - EXIT INT TERM; run_fuzzer "$name") >"$scratch/$name.said" &
    pids[$name]=$! running=$((running + 1))
  done
  for name in "${!pids[@]}"; do
    if wait "${pids[$name]}"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    cat "$scratch/$name.said"
  done
  run_stream_fuzzer
}
