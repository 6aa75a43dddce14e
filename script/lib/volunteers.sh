# shellcheck shell=bash
# Volunteer agents as parts of a stack, each with an account and a machine of its own. Sourced after market.sh.

# How many the stack has is kept, as its workers are.
volunteers_settle() {
  local wanted=$1 i count=0
  if [[ -n $wanted ]]; then echo "$wanted" | write_file "$state/volunteers"; fi
  [[ ! -s $state/volunteers ]] || count=$(<"$state/volunteers")
  volunteers=()
  for ((i = 1; i <= count; ++i)); do volunteers+=("volunteer$i"); done
  for i in $(parts_like volunteer); do
    [[ " ${volunteers[*]} " == *" $i "* ]] || stop "$i" TERM 45
  done
}

volunteer_run() { env -i "${base_env[@]}" "$bin/volunteer-agent" --state "$state/volunteer/$1" "${@:2}"; }

# Registers an account and lends this machine in its name, once.
volunteer_enrol() {
  local name=$1 secret=$state/secret/$1 url curl login
  [[ ! -f $state/volunteer/$name/machine.json ]] || return 0
  url=$(stack_url)
  mkdir -p "$state/volunteer"
  curl=(curl -sS --noproxy '*' --max-time 30 --fail-with-body -H 'Content-Type: application/json' -d @-)
  login=(--url "$url" --email "$name-$stack_id@example.org" --password-file "$secret")
  if [[ -d $state/tls ]]; then
    curl+=(--cacert "$state/tls/ca.crt")
    login+=(--ca-file "$state/tls/ca.crt")
  fi
  if [[ ! -s $secret ]]; then
    random_hex 16 | write_file "$secret"
    printf '{"email": "%s", "password": "%s"}' "$name-$stack_id@example.org" "$(<"$secret")" | "${curl[@]}" "$url/user/register"
  fi
  volunteer_run "$name" login "${login[@]}" && volunteer_run "$name" add-machine --name "$name"
}

volunteer_start() {
  volunteer_enrol "$1" >>"$state/log/$1.log" 2>&1 || { explain "$1" "could not be enrolled"; return 1; }
  spawn "$1" "$bin/volunteer-agent" --state "$state/volunteer/$1" start
}

volunteer_ready() { [[ $(volunteer_run "$1" status --json | jq -r '.connected and .sandbox_ready') == true ]]; }
