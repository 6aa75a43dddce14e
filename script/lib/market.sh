# shellcheck shell=bash
# Our own programs as parts of a stack. Sourced after postgres.sh and rabbitmq.sh.

bin=${REMOTIST_BIN:-$repo/build/bin}

program_exists() { [[ -x $bin/$1 ]]; }

# Prints the caller's own settings of a program: every exported variable with its prefix. One of DIR/env has it too.
passed_settings() {
  local variable
  for variable in $(compgen -e "$1"); do
    [[ $variable == REMOTIST_MARKET_URLS ]] || printf '%s\0' "$variable=${!variable}"
  done
}

# How many markets the stack has is kept, as TLS is. Each that is no longer wanted, and a proxy that comes or
# goes, changes what the others were told.
markets_settle() {
  local wanted=$1 kept
  kept=$(markets_kept)
  if [[ -n $wanted && $wanted != "$kept" ]]; then
    echo "$wanted" | write_file "$state/markets"
    has_moved
  fi
  markets_read
}
markets_kept() { if [[ -s $state/markets ]]; then cat "$state/markets"; else echo 1; fi; }

# Sets $markets to the parts' names: market, market2 …
markets_read() {
  local i count
  count=$(markets_kept)
  markets=(market)
  for ((i = 2; i <= count; ++i)); do markets+=("market$i"); done
}

# The same for workers; none is a number too.
workers_settle() {
  local wanted=$1 i count=1
  if [[ -n $wanted ]]; then echo "$wanted" | write_file "$state/workers"; fi
  [[ ! -s $state/workers ]] || count=$(<"$state/workers")
  workers=()
  for ((i = 1; i <= count; ++i)); do workers+=("worker$([[ $i == 1 ]] || echo "$i")"); done
  for i in $(parts_like worker); do
    [[ " ${workers[*]} " == *" $i "* ]] || stop "$i" TERM 30
  done
}

behind_proxy() { [[ -d $state/tls ]] || ((${#markets[@]} > 1)); }

stack_url() {
  if [[ -d $state/tls ]]; then
    echo "https://localhost:${port[haproxy]}"
  elif behind_proxy; then
    echo "http://127.0.0.1:${port[haproxy]}"
  else
    echo "http://127.0.0.1:${port[market]}"
  fi
}

# Where volunteers open their sockets.
socket_url() {
  local url
  url=$(stack_url)
  behind_proxy || url=http://127.0.0.1:${port[market_socket]}
  echo "ws${url#http}/volunteer/socket"
}

market_urls() {
  local part urls=()
  for part in "${markets[@]}"; do urls+=("http://127.0.0.1:${port[$part]}"); done
  echo "${urls[*]}"
}

# Sets $market_env. The stack's own addresses come last and win.
market_settings() {
  markets_read
  [[ -s $state/secret/statement_key ]] || random_hex 32 | write_file "$state/secret/statement_key"
  mapfile -d '' -t market_env < <(passed_settings REMOTIST_MARKET_)
  market_env+=(
    REMOTIST_MARKET_DATABASE_URL="$(pg_url)"
    REMOTIST_MARKET_AMQP_URL_FILE="$state/secret/amqp_url"
    REMOTIST_MARKET_LISTEN_ADDRESS=127.0.0.1
    REMOTIST_MARKET_BLOB_DIR="$state/blobs"
    REMOTIST_MARKET_STATEMENT_KEY_FILE="$state/secret/statement_key"
    REMOTIST_MARKET_SOCKET_URL="$(socket_url)"
  )
  ! behind_proxy || market_env+=(REMOTIST_MARKET_TRUSTED_PROXIES=127.0.0.1)
  [[ ! -d $state/tls ]] || market_env+=(REMOTIST_MARKET_BEHIND_TLS_PROXY=true)
}

market_answers() {
  [[ $(curl -s -o /dev/null -w '%{http_code}' --noproxy '*' --max-time 2 "http://127.0.0.1:${port[$1]}/healthz") == 200 ]]
}

# Runs a command of the market program in the foreground with the stack's settings.
market_run() { env -i "${base_env[@]}" "${market_env[@]}" "$bin/remotist-market" "$@"; }

market_start() {
  market_run migrate </dev/null >>"$state/log/migrate.log" 2>&1 || { explain migrate "failed"; return 1; }
  spawn "$1" "${market_env[@]}" REMOTIST_MARKET_LISTEN_PORT="${port[$1]}" REMOTIST_MARKET_SOCKET_PORT="${port[${1}_socket]}" "$bin/remotist-market" serve
}

# Linux shares the processor between sessions, and each part of the stack is one: on few cores PostgreSQL's many processes
# can keep the event loops waiting for tens of milliseconds. Three shares for each market; only root may ask for them.
market_hasten() {
  local part
  for part in "${markets[@]}"; do
    { echo -5 >"/proc/$(live_pid "$part")/autogroup"; } 2>/dev/null || true
  done
}

worker_start() {
  local worker_env
  mapfile -d '' -t worker_env < <(passed_settings REMOTIST_WORKER_)
  spawn "$1" "${worker_env[@]}" \
    REMOTIST_WORKER_DATABASE_URL="$(pg_url)" \
    REMOTIST_WORKER_AMQP_URL_FILE="$state/secret/amqp_url" \
    "$bin/remotist-worker"
}

worker_ready() { grep -q event=worker_started "$state/log/$1.log"; }
