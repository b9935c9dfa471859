#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# Actions of an administrator on containers through systemd instead of nmd: a scope is stopped, a scope that ignores SIGTERM is stopped,
# a scope is killed, and the whole slice is stopped. nmd reports each of them correctly.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd
begin() { # NAME COMMAND...: $id runs
    local name=$1
    shift
    id=$(timeout 60 nmctl run --detach --name "$name" -u alice -m 32M -c 0.05 -- "$@")
    scope=nm-$id.scope
    wait_until 30 in_state "$id" RUNNING || not_ok "$name runs"
}
ended() { # NAME ID REASON MESSAGE: how it was told
    check "$1: the container ends" wait_until 30 in_state "$2" COMPLETED
    is "$1: the record has the reason" "$(field_of "$2" .exit_reason)" "$3"
    like "$1: show describes the reason" "$(nmctl show --json "$2" | jq -r .message)" "$4"
}
log_has() { journalctl -u nmd.service -o cat | grep -q "$1"; }

begin one sleep 10000
systemctl stop "$scope"
ended "a stopped scope" "$id" stopped "systemd stopped its scope without a request from nmd"
check "the event of the stopped scope has the reason immediately" wait_until 10 log_has "systemd stops the scope of $id"
like "show has the reason of the stopped scope" "$(nmctl show "$id")" "stopped"
like "explain has the reason of the stopped scope" \
    "$(nmctl explain "$id")" "now ended: it was stopped through systemd: systemd stopped its scope"

begin deaf sh -c 'trap "" TERM; echo deaf; while :; do sleep 1; done'
wait_until 20 eval '[ "$(nmctl logs "$id")" = deaf ]'
systemctl stop --no-block "$scope"
told() { nmctl show --json "$id" | jq -r .message | grep -q "systemd is stopping its scope"; }
check "show reports the stop while the container ignores SIGTERM" wait_until 20 told
is "the container still runs" "$(state_of "$id")" RUNNING
like "explain reports the stop" "$(nmctl explain "$id")" "now RUNNING: systemd is stopping its scope"
systemctl kill -s KILL "$scope"
ended "a container that ignored SIGTERM" "$id" stopped "systemd stopped its scope"

begin killed sleep 10000
systemctl kill "$scope"
ended "a scope that was sent SIGTERM" "$id" signaled "SIGTERM was not sent by nmd"
begin shot sleep 10000
systemctl kill -s KILL "$scope"
ended "a scope that was sent SIGKILL" "$id" signaled "from outside nmd"
begin own sleep 10000
nmctl kill --now --wait "$id" >/dev/null
ended "a container that nmd killed" "$id" killed ""

begin first sleep 10000
ids=("$id")
begin second sleep 10000
ids+=("$id")
systemctl stop nm.slice
for id in "${ids[@]}"; do
    ended "a stopped slice" "$id" stopped "systemd stopped its scope"
done
check "the message names the slice" wait_until 10 log_has "systemd stops nm.slice and all containers in it"
begin after sleep 10000
nmctl kill --now --wait "$id" >/dev/null
ended "a container that nmd killed afterwards" "$id" killed ""
# systemd applied nmd's last memory.low to the new slice, although its container has ended.
promised() { cat $cg/nm.slice/memory.low; }
promises_nothing() { [ "$(promised)" = 0 ]; }
check "the slice has no protection any more" wait_until 20 promises_nothing || diag "memory.low: $(promised)"
done_testing
