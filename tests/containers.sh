#!/usr/bin/env bash
# docker-compose.yml on a real Docker: tests/e2e/compose.sh, for which this starts a private Docker where none runs and makes
# the base image where it is absent. That Docker ends with this script; its images stay in build/containers, for the next run.
# It takes no part in the machine's network: no bridge of its own, no packet filter, no forwarding.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

docker_pid='' run=''
docker_stop() {
  if [[ -n $docker_pid ]]; then
    kill "$docker_pid" 2>/dev/null || true
    wait "$docker_pid" || true
  fi
  docker_pid=
  [[ -n $run ]] || return 0
  # Docker leaves its containers' network namespaces mounted.
  umount "$run"/exec/netns/* 2>/dev/null || true
  rm -rf --one-file-system "$run"
}
trap docker_stop EXIT
trap 'exit 130' INT TERM

docker_answers() { timeout 10 docker info >/dev/null 2>&1; }

docker_start() {
  local data=$PWD/build/containers deadline=$((SECONDS + 60))
  [[ $EUID -eq 0 ]] || fail "no Docker answers, and only root can start one"
  mkdir -p "$data"
  exec {lock}>"$data.lock"
  flock -n "$lock" || fail "another Docker uses $data"
  # Sockets have short paths.
  run=$(mktemp -d /tmp/remotist-docker-XXXXXX)
  echo '{}' >"$run/daemon.json"
  export DOCKER_HOST=unix://$run/socket DOCKER_CONFIG=$run/config REMOTIST_BUILD_NETWORK=host
  # Killed itself, this script still ends Docker with it.
  setpriv --pdeathsig TERM dockerd --config-file "$run/daemon.json" --host "$DOCKER_HOST" --pidfile "$run/pid" --exec-root "$run/exec" \
    --data-root "$data" --exec-opt native.cgroupdriver=cgroupfs --bridge none --iptables=false --ip6tables=false --ip-forward=false \
    >build/containers.log 2>&1 </dev/null {lock}>&- &
  docker_pid=$!
  until docker_answers; do
    kill -0 "$docker_pid" 2>/dev/null || { tail -n 20 build/containers.log; fail "Docker did not start"; }
    ((SECONDS < deadline)) || { tail -n 20 build/containers.log; fail "Docker does not answer"; }
    sleep 0.2
  done
}

if docker_answers; then
  echo "Docker runs"
else
  docker_start
  echo "started Docker ($SECONDS s)"
fi
docker version --format 'Docker {{.Server.Version}}'
docker compose version
if ! docker image inspect debian:trixie-slim >/dev/null 2>&1; then
  began=$SECONDS
  script/container/base
  echo "made the base image ($((SECONDS - began)) s)"
fi
tests/e2e/compose.sh
