#!/bin/sh
# Runs the server from its source; installs what it needs first.
set -eu
sh scripts/ready.sh
export NODE_USE_SYSTEM_CA=1
exec bun cli/main.ts serve "$@"
