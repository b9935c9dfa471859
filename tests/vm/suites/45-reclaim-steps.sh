#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 700
#
# nmd is killed with SIGKILL directly before and directly after the reclaim of a paused container's memory. The next nmd
# completes the reclaim, and does not change the container or its pause. The suite needs a build with fault injection
# (tests/vm/run --build).
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

[ -x "$NMD_VM_DATA/nmd-fault" ] ||
    skip_all "this nmd has no fault steps: use tests/vm/run --build DIR, configured with --enable-fault-injection"

swapped() { [ "$(cat "$cg/nm.slice/nm-$idle.scope/memory.swap.current")" -gt $((10 << 20)) ]; }
# The worker of the killed nmd may still be running. It limits memory.swap.max to one piece at a time until it ends.
swaps_freely() { [ "$(cat "$cg/nm.slice/nm-$idle.scope/memory.swap.max")" = max ]; }
reclaims() { # prints the outcomes of the decisions to reclaim, in order
    nmctl explain --json "$idle" | jq -r '[.[] | select(.kind == "reclaim") | .outcome] | join(" ")'
}
# The first nmd may die after its worker has finished. A reclaim for which swap is too slow is reported as failed, and is
# started again.
is_completed() { [[ "$(reclaims)" =~ ^failed(\ failed|\ done)*\ done$ || ($step = after-* && "$(reclaims)" =~ ^failed(\ failed)*$) ]]; }

# Only the first nmd dies. The next nmd passes the same step without dying.
mkdir -p /run/systemd/system/nmd.service.d
cat >/usr/local/sbin/nmd-once <<END
#!/bin/sh
if step=\$(cat /run/nmd-step) && rm /run/nmd-step; then export NMD_FAULT=\$step; fi 2>/dev/null
exec $NMD_VM_DATA/nmd-fault --config /etc/nmd/nmd.conf --socket /run/nmd/nmd.sock \\
    --state-dir /var/lib/nmd --runtime-dir /run/nmd --shim $NMD_VM_DATA/nm-shim-fault
END
chmod 755 /usr/local/sbin/nmd-once
printf '[Service]\nExecStart=\nExecStart=/usr/local/sbin/nmd-once\n' >/run/systemd/system/nmd.service.d/fault.conf
at_exit 'rm -rf /run/systemd/system/nmd.service.d /usr/local/sbin/nmd-once; systemctl daemon-reload'
systemctl daemon-reload

for step in before-reclaim:1 after-reclaim:1; do
    echo "$step" >/run/nmd-step
    quick_nmd "[node]" "memory = 512M" "[preemption]" "cpu-samples = 100" "squeeze = no" \
        "pause-deadline = 1h" "[sampling]" "period = 1s"
    big=$(start big 25 -m 450M -c 0.5)
    idle=$(start idle 150 --opportunistic -m 200M -c 0.1)
    wait_until 90 in_state "$idle" RUNNING
    check "$step: a container uses memory" wait_until 60 uses "$idle" 145
    nmctl pause "$idle" >/dev/null
    wait_until 20 in_state "$idle" PAUSED
    before=$(field_of "$idle" '"\(.pid) \(.pause_deadline_usec / 20000000 | round)"')
    pid=$(unit_prop nmd.service MainPID)
    grow big 333
    died() { ! kill -0 "$pid"; }
    check "$step: nmd dies at this step" wait_until 90 died
    is "$step: the container's cgroup stays frozen" \
        "$(field "$cg/nm.slice/nm-$idle.scope/cgroup.events" frozen)" 1
    check "$step: the container's memory is moved to swap" wait_until 90 swapped
    check "$step: the next nmd completes the reclaim, and the decision record has an outcome" wait_until 200 is_completed ||
        diag "$(nmctl explain --json "$idle" | jq -c '.[] | select(.kind == "reclaim")')"
    is "$step: no container is killed, and the pause has the same deadline" \
        "$(state_of "$idle") $(field_of "$idle" '"\(.pid) \(.pause_deadline_usec / 20000000 | round)"')" \
        "PAUSED $before"
    check "$step: memory.swap.max of the container has no limit afterwards" wait_until 60 swaps_freely
    nmctl kill --now --wait "$big" "$idle" >/dev/null
done
done_testing
