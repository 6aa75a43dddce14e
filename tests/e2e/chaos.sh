#!/usr/bin/env bash
# Half a minute of the chaos that script/test chaos makes for five.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../chaos/dispatch.sh" 30
