#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# host: yarn
#
# An operator replaces Java's NodeManager by nmd: with the package, the cluster's own yarn-site.xml, one command and a restart. Then
# the operator reverts that.
# The stock ResourceManager and an application's master run on the host (tests/vm/host-yarn); containers run here, in
# scopes with real limits.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"
# shellcheck source=tests/vm/data/yarn.sh
. "$NMD_VM_DATA/yarn.sh"
check "the host is there" wait_until 30 light apps

# ---- the operator's steps -------------------------------------------------------------------------

yarn_site 700
mkdir -p /etc/nmd/nmd.conf.d # other suites' settings are put there: it isn't the setup's to remove
chown daemon: $local $logs # as another NodeManager has them
said=$(nmd --yarn-setup /etc/hadoop/conf) || diag "$said"
like "one command sets the host up" "$said" "made    /etc/systemd/system/nmd.service.d/50-yarn.conf"
like "the ResourceManager answers" "$said" "ResourceManager $host:$tracker_port .*answers"
like "the directories are root's" "$said" "changed $local: .* to 0:0 and 0755"
systemctl daemon-reload
like "systemd takes it" "$(unit_prop nmd.service IPAddressAllow)" "${host//./\\.}"
swapoff -a
at_exit 'swapon -a'
quick_nmd
check "the node is in the cluster" wait_until 60 status_is .upstream.state running || done_testing
is "with what yarn-site.xml gives it" "$(status_of '.node.capacity | "\(.memory_bytes / 1048576)"')" 700
is "the ResourceManager sees it" "$(rm_node '"\(.state) \(.availMemoryMB)"')" "RUNNING 700"

# ---- a guaranteed container, and one that uses too much ------------------------------------------------

g=$(one_more mb=160 'cmd=echo hello; exec sleep 1001')
like "YARN gives a container its id" "$g" '^container_'
check "it runs here" wait_until 60 in_state "$g" RUNNING
scope=nm-$g.scope
is "in a scope" "$(systemctl is-active "$scope")" active
is "whose limit the kernel has" "$(cat "$cg/nm.slice/$scope/memory.max")" $((160 << 20))
is "and what it is guaranteed" "$(cat "$cg/nm.slice/$scope/memory.low")" $((160 << 20))
is "as the user that yarn-site.xml names" "$(ps -o user= -p "$(field_of "$g" .pid)")" alice
app=$(light apps | jq -r '.[0].id')
is "nmctl shows whose it is" "$(field_of "$g" .app)" "$app"
check "its output is where YARN wants it" grep -qx hello "$logs/$app/$g/stdout"

# ---- nm-shuffle's share of CPU -----------------------------------------------------------------------

# Its cgroup is beside the slice, so its weight is compared with the container's share of the slice's weight.
in_scope() { [ "$(cat "$cg/nm_shuffle.scope/cgroup.procs" 2>/dev/null)" = "$(pidof nm-shuffle)" ]; }
check "nm-shuffle is in a scope of its own" wait_until 30 in_scope
is "which systemd knows" "$(systemctl is-active nm_shuffle.scope)" active
systemctl daemon-reload
weight=$(cat "$cg/nm_shuffle.scope/cpu.weight")
of_container=$(($(cat "$cg/nm.slice/cpu.weight") * $(cat "$cg/nm.slice/$scope/cpu.weight") / 10000))
at_least "a guaranteed container of one vcore has twice its weight" "$of_container" $((2 * weight))
is "and it is as urgent as they are" "$(ps -o ni= -p "$(pidof nm-shuffle)" | tr -d ' ')" 0

greedy=$(one_more mb=64 'cmd=head -c 300M /dev/zero | tail -c 300M')
check "one that takes more than it has asked for ends" wait_until 120 ended "$greedy"
like "by the kernel's hand, and its application hears so" "$(ends "$greedy")" \
    "^-104 .*beyond the 'PHYSICAL' memory limit"
is "the other goes on" "$(state_of "$g")" RUNNING

# ---- an opportunistic container ----------------------------------------------------------------------

o=$(one_more mb=96 type=OPPORTUNISTIC 'cmd=exec sleep 1002')
check "an opportunistic one runs" wait_until 60 in_state "$o" RUNNING
is "and has no protection" "$(cat "$cg/nm.slice/nm-$o.scope/memory.low")" 0
rm_counts() { [ "$(rm_node '"\(.numRunningOpportContainers) \(.numQueuedContainers)"')" = "$1" ]; }
check "the ResourceManager counts it apart" wait_until 20 rm_counts "1 0"
sub_state() { light state "container=$1" | jq -r '"\(.state) \(.sub_state)"'; } # ID: as its master is told
sub_state_is() { [ "$(sub_state "$1")" = "$2" ]; }
nmctl pause "$o" >/dev/null
check "it is paused" wait_until 20 in_state "$o" PAUSED
is "really" "$(field "$cg/nm.slice/nm-$o.scope/cgroup.events" frozen)" 1
check "and its master is told" wait_until 20 sub_state_is "$o" "RUNNING PAUSED"
nmctl resume "$o" >/dev/null
check "it goes on" wait_until 20 sub_state_is "$o" "RUNNING RUNNING"

light update "container=$o" type=GUARANTEED >/dev/null
promoted() { [ "$(field_of "$o" .execution_type)" = GUARANTEED ]; }
check "it is promoted" wait_until 60 promoted
protected() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.low")" = $((96 << 20)) ]; }
check "and the kernel knows" wait_until 20 protected
check "as do master and ResourceManager" wait_until 20 rm_counts "0 0"
is "with its new type" "$(light state "container=$o" | jq -r .type)" GUARANTEED
light update "container=$o" mb=128 >/dev/null
grown() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.max")" = $((128 << 20)) ]; }
check "it grows" wait_until 60 grown

# ---- nmd is replaced while they run -----------------------------------------------------------------

pid=$(field_of "$g" .pid)
systemctl restart nmd.service
check "a new nmd joins the cluster" wait_until 60 status_is .upstream.state running
is "and has both" "$(state_of "$g") $(state_of "$o")" "RUNNING RUNNING"
is "as they were" "$(field_of "$g" .pid)" "$pid"
check "its nm-shuffle has the scope of the one before" wait_until 30 in_scope
check "their master reaches them" wait_until 30 sub_state_is "$o" "RUNNING RUNNING"

# ---- the end of the containers ----------------------------------------------------------------------

light end "container=$o" >/dev/null
check "one is stopped by its master" wait_until 60 ended "$o"
like "which hears its own reason" "$(ends "$o")" '^-105 '
light finish >/dev/null
check "with the application the rest ends" wait_until 60 in_state "$g" COMPLETED
like "for that" "$(field_of "$g" .message)" "ResourceManager"
gone() { [ -z "$(ls -A "$local"/usercache/*/appcache 2>/dev/null)" ]; }
check "nothing is left of it on the disk" wait_until 60 gone
check "but its logs" test -s "$logs/$app/$g/stdout"

# ---- after a stop --------------------------------------------------------------------------------

systemctl stop nmd.service
no_helper() { ! pidof nm-shuffle nm-localizer nmd >/dev/null && [ ! -e "$cg/nm_shuffle.scope" ]; }
check "no process of a stopped nmd is left" wait_until 30 no_helper
check "the setup is taken back" nmd --yarn-setup /etc/hadoop/conf --undo
is "with nothing left of it" "$(ls /etc/systemd/system/nmd.service.d/50-yarn.conf /etc/nmd/nmd.conf.d/50-yarn.conf 2>/dev/null)" ""
is "and the directories are whose they were" "$(stat -c %U $local $logs | sort -u)" daemon
done_testing
