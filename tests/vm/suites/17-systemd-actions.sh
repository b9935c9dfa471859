#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# An administrator acts on containers through systemd instead of nmd: stops a scope, stops a scope whose processes ignore
# SIGTERM, kills a scope, and stops the whole slice. nmd reports the right reason for each.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd
begin() { # NAME COMMAND...: starts a container and sets $id
    local name=$1
    shift
    id=$(timeout 60 nmctl run --detach --name "$name" -u alice -m 32M -c 0.05 -- "$@")
    scope=nm-$id.scope
    wait_until 30 in_state "$id" RUNNING || not_ok "$name is running"
}
ended() { # NAME ID REASON MESSAGE: checks what nmd reports about the end
    check "$1: the container ends" wait_until 30 in_state "$2" COMPLETED
    is "$1: the container's record has the exit reason $3" "$(field_of "$2" .exit_reason)" "$3"
    like "$1: the container's message describes the reason" "$(nmctl show --json "$2" | jq -r .message)" "$4"
}
log_has() { journalctl -u nmd.service -o cat | grep -q "$1"; }

begin one sleep 10000
systemctl stop "$scope"
ended "a scope that systemd stopped" "$id" stopped "systemd stopped its scope without a request from nmd"
check "nmd's log says immediately that systemd stops the scope" wait_until 10 log_has "systemd stops the scope of $id"
like "nmctl show says that the scope was stopped" "$(nmctl show "$id")" "stopped"
like "nmctl explain says that the scope was stopped" \
    "$(nmctl explain "$id")" "now ended: it was stopped through systemd: systemd stopped its scope"

begin deaf sh -c 'trap "" TERM; echo deaf; while :; do sleep 1; done'
wait_until 20 eval '[ "$(nmctl logs "$id")" = deaf ]'
systemctl stop --no-block "$scope"
reports_stop() { nmctl show --json "$id" | jq -r .message | grep -q "systemd is stopping its scope"; }
check "nmctl show reports the stop while the container ignores SIGTERM" wait_until 20 reports_stop
is "the container that ignores SIGTERM is still running" "$(state_of "$id")" RUNNING
like "nmctl explain reports that systemd is stopping the scope" "$(nmctl explain "$id")" "now RUNNING: systemd is stopping its scope"
systemctl kill -s KILL "$scope"
ended "a stopped scope whose command ignored SIGTERM" "$id" stopped "systemd stopped its scope"

begin killed sleep 10000
systemctl kill "$scope"
ended "a scope to which systemctl kill sent SIGTERM" "$id" signaled "SIGTERM was not sent by nmd"
begin shot sleep 10000
systemctl kill -s KILL "$scope"
ended "a scope to which systemctl kill sent SIGKILL" "$id" signaled "from outside nmd"
begin own sleep 10000
nmctl kill --now --wait "$id" >/dev/null
ended "a container that a user killed with nmctl" "$id" killed ""

begin first sleep 10000
ids=("$id")
begin second sleep 10000
ids+=("$id")
systemctl stop nm.slice
for id in "${ids[@]}"; do
    ended "a container in a slice that systemd stopped" "$id" stopped "systemd stopped its scope"
done
check "nmd's log says that systemd stops the slice" wait_until 10 log_has "systemd stops nm.slice and all containers in it"
begin after sleep 10000
nmctl kill --now --wait "$id" >/dev/null
ended "a container that a user killed with nmctl after the slice was stopped" "$id" killed ""
# systemd applied nmd's last memory.low to the new slice, although the container that this value protected has ended.
promised() { cat $cg/nm.slice/memory.low; }
promises_nothing() { [ "$(promised)" = 0 ]; }
check "memory.low of the new slice is 0 when no container is left" wait_until 20 promises_nothing || diag "memory.low: $(promised)"
done_testing
