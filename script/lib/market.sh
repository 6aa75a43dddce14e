# shellcheck shell=bash
# Our own programs as parts of a stack. Sourced after postgres.sh and rabbitmq.sh.

bin=${REMOTIST_BIN:-$repo/build/bin}

program_exists() { [[ -x $bin/$1 ]]; }

# Prints the caller's own settings of a program: every exported variable with its prefix.
passed_settings() {
  local variable
  for variable in $(compgen -e "$1"); do
    printf '%s\0' "$variable=${!variable}"
  done
}

# Sets $market_env. The stack's own addresses come last and win.
market_settings() {
  mapfile -d '' -t market_env < <(passed_settings REMOTIST_MARKET_)
  market_env+=(
    REMOTIST_MARKET_DATABASE_URL="$(pg_url)"
    REMOTIST_MARKET_AMQP_URL_FILE="$state/secret/amqp_url"
    REMOTIST_MARKET_LISTEN_ADDRESS=127.0.0.1
    REMOTIST_MARKET_LISTEN_PORT="${port[market]}"
    REMOTIST_MARKET_BLOB_DIR="$state/blobs"
  )
  if [[ -d $state/tls ]]; then
    market_env+=(REMOTIST_MARKET_BEHIND_TLS_PROXY=true REMOTIST_MARKET_TRUSTED_PROXIES=127.0.0.1)
  fi
}

market_answers() {
  [[ $(curl -s -o /dev/null -w '%{http_code}' --noproxy '*' --max-time 2 "http://127.0.0.1:${port[market]}/healthz") == 200 ]]
}

# Runs a command of the market program in the foreground with the stack's settings.
market_run() { env -i "${base_env[@]}" "${market_env[@]}" "$bin/remotist-market" "$@"; }

market_start() {
  market_run migrate </dev/null >>"$state/log/migrate.log" 2>&1 || { explain migrate "failed"; return 1; }
  spawn market "${market_env[@]}" "$bin/remotist-market" serve
}

# Linux shares the processor between sessions, and each part of the stack is one: on few cores PostgreSQL's many processes
# can keep the event loops waiting for tens of milliseconds. Three shares for the market; only root may ask for them.
market_hasten() { { echo -5 >"/proc/$(live_pid market)/autogroup"; } 2>/dev/null || true; }

worker_start() {
  local worker_env
  mapfile -d '' -t worker_env < <(passed_settings REMOTIST_WORKER_)
  spawn worker "${worker_env[@]}" \
    REMOTIST_WORKER_DATABASE_URL="$(pg_url)" \
    REMOTIST_WORKER_AMQP_URL_FILE="$state/secret/amqp_url" \
    "$bin/remotist-worker"
}

volunteer_start() {
  local name=$1 volunteer_env
  mkdir -p "$state/$name"
  mapfile -d '' -t volunteer_env < <(passed_settings REMOTIST_VOLUNTEER_)
  spawn "$name" "${volunteer_env[@]}" \
    REMOTIST_VOLUNTEER_URL="http://127.0.0.1:${port[market]}" \
    REMOTIST_VOLUNTEER_STATE_DIR="$state/$name" \
    "$bin/volunteer-agent"
}
