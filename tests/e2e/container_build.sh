#!/usr/bin/env bash
# The market's programs build as script/container/Dockerfile builds them: with the same preset, and from the files that
# .dockerignore leaves. Needs no Docker. The copy stays in build/, so that the next run builds only what has changed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

commands='cmake --preset container && cmake --build --preset container'
grep -qF "$commands" script/container/Dockerfile || fail "script/container/Dockerfile no longer builds with: $commands"
export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}

copy=$repo/build/container-source
mkdir -p "$copy"
find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
shopt -s dotglob
# Patterns of .dockerignore begin at the top, as they do with these options.
tar -c --anchored --no-wildcards-match-slash --exclude-from=.dockerignore -- * | tar -x -C "$copy"
[[ ! -e $copy/docs && ! -e $copy/client-r ]] || fail "the copy has what .dockerignore names"

cd "$copy"
for command in "cmake --preset container" "cmake --build --preset container"; do
  $command >"$scratch/out" 2>&1 </dev/null || { tail -n 40 "$scratch/out"; fail "$command, as in the Dockerfile"; }
done
for program in market worker; do
  build/container/bin/remotist-$program --help >/dev/null || fail "remotist-$program does not start"
done
