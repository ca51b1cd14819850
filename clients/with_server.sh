#!/usr/bin/env bash
# Runs a command with the address of a server as its last argument. usage: with_server.sh FLIGHTPLAN COMMAND...
flightplan="$1"
shift
# shellcheck source=tests/support/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tests/support/server.sh"
start_server s --listen=127.0.0.1:0 --http_listen= --drain_delay=0s
"$@" "$(served s listen)"
stop_server "$server"
