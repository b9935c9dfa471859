# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # much of it is for those who source it
#
# Library for suites that run nmscale with a real ResourceManager. They source this file instead of lib.sh. It sources lib.sh.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

nmscale=$NMD_TEST_BUILD/nmscale/nmscale
[ -x "$nmscale" ] || skip_all "there is no $nmscale: build it first"
exclude=$dir/exclude
# Uses exec, so that $! of a background call is the PID of nmscale itself, which can get signals.
nms_exec() { exec "$nmscale" --rm "$rm_web" --state "$dir/state.json" --min-nodes 0 --idle-for 0s "$@"; } # a later option overrides these
nms() { (nms_exec "$@"); }
remove_state() { rm -f "$dir/state.json"; }
# Hadoop's own rmadmin, with the suite's class path. rmadmin.calls records its calls.
cat >"$dir/rmadmin" <<END
#!/bin/bash
echo "\$*" >>"$dir/rmadmin.calls"
exec java $(printf '%q ' "${java_options[@]}") -cp '$(hadoop_classpath)' org.apache.hadoop.yarn.client.cli.RMAdminCLI "\$@"
END
chmod +x "$dir/rmadmin"
nms_apply=(--apply -x "$exclude" --rmadmin "$dir/rmadmin" --poll 200ms)
apply() { nms "${nms_apply[@]}" "$@"; }

given() { nms --json "$@" | jq -r '[.nodes[].host] | join(" ")'; }
reason() { nms --json --all "${@:2}" | jq -r '.nodes[] | select(.host == "'"$1"'") | .reason'; } # NODE
state() { rm_get nodes | jq -r '.nodes.node[] | select(.nodeHostName == "'"$1"'") | .state'; }
is_state() { [ "$(state "$1")" = "$2" ]; }

# Starts nmscale --apply as $apply_pid in the background, with output in apply.out and apply.err. Waits until this number of nodes is
# decommissioning, and sets $leaving.
apply_pid='' leaving=''
are_leaving() { [ "$(rm_nodes DECOMMISSIONING | wc -l)" = "$1" ]; }
begin_apply() { # N OPTION...
    local n=$1
    shift
    nms_exec "${nms_apply[@]}" --at-most "$n" --timeout 100s "$@" >"$dir/apply.out" 2>"$dir/apply.err" &
    apply_pid=$!
    wait_until 60 are_leaving "$n" || return 1
    leaving=$(rm_nodes DECOMMISSIONING)
}
apply_ends() { # waits for its end, and returns its exit status
    local status=0
    wait "$apply_pid" || status=$?
    apply_pid=''
    return "$status"
}
at_exit 'end_process "$apply_pid"'
