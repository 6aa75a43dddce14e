#!/usr/bin/env bash
# A market that is told to stop answers what it has begun, takes nothing new, and ends; also when its database hangs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

new_state stack
up "$state"
account='{"email": "ana@example.org", "password": "correct horse battery"}'
[[ $(status "$state" POST /user/register "$account") == 201 ]] || fail "register: $(<"$scratch/answer")"

ended() { ! kill -0 "$1" 2>/dev/null || [[ $(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) == Z ]]; }

# Requests without pause while the market stops: each is answered, refused in words, or finds nobody.
market=$(pid_of "$state" market)
for _ in 1 2 3 4; do
  (
    while :; do
      answer=$(status "$state" POST /user/login "$account" 2>/dev/null)
      echo "$answer"
      [[ $answer != 000 ]] || break
    done
  ) >>"$scratch/answers" &
done
wait_until 20 grep -q 200 "$scratch/answers" || fail "no login succeeded"
kill -TERM "$market"
wait_until 15 ended "$market" || fail "the market did not end within 15 s of SIGTERM"
wait
strange=$(grep -vE '^(200|429|503|000)$' "$scratch/answers" | sort | uniq -c || true)
[[ -z $strange ]] || fail "answers while stopping:"$'\n'"$strange"
grep -q 'event=market_stopped' "$state/log/market.log" || fail "the market did not say that it stopped"

# A database that stands still is seen by /healthz, and does not keep the market from ending.
up "$state"
market=$(pid_of "$state" market)
postgres=$(pid_of "$state" postgres)
kill -STOP "$postgres"
mapfile -t backends < <(pgrep -P "$postgres")
kill -STOP "${backends[@]}"
down_now() { [[ $(status "$state" GET /healthz) == 503 ]]; }
wait_until 15 down_now || fail "/healthz says that a database is up which stands still: $(<"$scratch/answer")"
kill -TERM "$market"
kill -TERM "$market"
wait_until 40 ended "$market" || fail "the market waits for a database that stands still"
kill -CONT "${backends[@]}" "$postgres"
up "$state"
[[ $(status "$state" POST /user/login "$account") == 200 ]] || fail "login: $(<"$scratch/answer")"
