#!/usr/bin/env bash
# Half a minute of each chaos that script/test chaos makes for five.
set -euo pipefail
chaos=$(dirname "${BASH_SOURCE[0]}")/../chaos
"$chaos/dispatch.sh" 30
"$chaos/volunteers.sh" 30
