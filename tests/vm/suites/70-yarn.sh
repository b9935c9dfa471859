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
check "the programs on the host are available" wait_until 30 light apps

# ---- the operator's steps -------------------------------------------------------------------------

yarn_site 700
mkdir -p /etc/nmd/nmd.conf.d # other suites' settings are put there: it isn't the setup's to remove
chown daemon: $local $logs # as another NodeManager has them
said=$(nmd --yarn-setup /etc/hadoop/conf) || diag "$said"
like "one command sets the host up" "$said" "made    /etc/systemd/system/nmd.service.d/50-yarn.conf"
like "the setup reports that the ResourceManager answers" "$said" "ResourceManager $host:$tracker_port .*answers"
like "the directories belong to root" "$said" "changed $local: .* to 0:0 and 0755"
systemctl daemon-reload
like "systemd accepts the drop-in" "$(unit_prop nmd.service IPAddressAllow)" "${host//./\\.}"
swapoff -a
at_exit 'swapon -a'
quick_nmd
check "the node is in the cluster" wait_until 60 status_is .upstream.state running || done_testing
is "the node has the resources of yarn-site.xml" "$(status_of '.node.capacity | "\(.memory_bytes / 1048576)"')" 700
is "the ResourceManager has the node" "$(rm_node '"\(.state) \(.availMemoryMB)"')" "RUNNING 700"

# ---- a guaranteed container, and one that uses too much ------------------------------------------------

g=$(one_more mb=160 'cmd=echo hello; exec sleep 1001')
like "YARN gives a container its id" "$g" '^container_'
check "the container runs on this node" wait_until 60 in_state "$g" RUNNING
scope=nm-$g.scope
is "the container is in a scope" "$(systemctl is-active "$scope")" active
is "the kernel has the container's limit" "$(cat "$cg/nm.slice/$scope/memory.max")" $((160 << 20))
is "the kernel has the container's protection" "$(cat "$cg/nm.slice/$scope/memory.low")" $((160 << 20))
is "the container runs as the user of yarn-site.xml" "$(ps -o user= -p "$(field_of "$g" .pid)")" alice
app=$(light apps | jq -r '.[0].id')
is "nmctl shows the container's application" "$(field_of "$g" .app)" "$app"
check "the output is where YARN expects it" grep -qx hello "$logs/$app/$g/stdout"

# ---- nm-shuffle's share of CPU -----------------------------------------------------------------------

# Its cgroup is beside the slice, so its weight is compared with the container's share of the slice's weight.
in_scope() { [ "$(cat "$cg/nm_shuffle.scope/cgroup.procs" 2>/dev/null)" = "$(pidof nm-shuffle)" ]; }
check "nm-shuffle is in a scope of its own" wait_until 30 in_scope
is "systemd has nm-shuffle's scope" "$(systemctl is-active nm_shuffle.scope)" active
systemctl daemon-reload
weight=$(cat "$cg/nm_shuffle.scope/cpu.weight")
of_container=$(($(cat "$cg/nm.slice/cpu.weight") * $(cat "$cg/nm.slice/$scope/cpu.weight") / 10000))
at_least "nm-shuffle has twice the weight of a guaranteed container of one vcore" "$of_container" $((2 * weight))
is "nm-shuffle has the priority of containers" "$(ps -o ni= -p "$(pidof nm-shuffle)" | tr -d ' ')" 0

greedy=$(one_more mb=64 'cmd=head -c 300M /dev/zero | tail -c 300M')
check "a container that uses more than it requested ends" wait_until 120 ended "$greedy"
like "the application is told that the kernel killed the container" "$(ends "$greedy")" \
    "^-104 .*beyond the 'PHYSICAL' memory limit"
is "the other container keeps running" "$(state_of "$g")" RUNNING

# ---- an opportunistic container ----------------------------------------------------------------------

o=$(one_more mb=96 type=OPPORTUNISTIC 'cmd=exec sleep 1002')
check "an opportunistic container runs" wait_until 60 in_state "$o" RUNNING
is "the opportunistic container has no protection" "$(cat "$cg/nm.slice/nm-$o.scope/memory.low")" 0
rm_counts() { [ "$(rm_node '"\(.numRunningOpportContainers) \(.numQueuedContainers)"')" = "$1" ]; }
check "the ResourceManager counts the opportunistic container separately" wait_until 20 rm_counts "1 0"
sub_state() { light state "container=$1" | jq -r '"\(.state) \(.sub_state)"'; } # ID: as its master is told
sub_state_is() { [ "$(sub_state "$1")" = "$2" ]; }
nmctl pause "$o" >/dev/null
check "the opportunistic container is paused" wait_until 20 in_state "$o" PAUSED
is "the kernel reports the container as frozen" "$(field "$cg/nm.slice/nm-$o.scope/cgroup.events" frozen)" 1
check "the master is told about the pause" wait_until 20 sub_state_is "$o" "RUNNING PAUSED"
nmctl resume "$o" >/dev/null
check "the container is resumed" wait_until 20 sub_state_is "$o" "RUNNING RUNNING"

light update "container=$o" type=GUARANTEED >/dev/null
promoted() { [ "$(field_of "$o" .execution_type)" = GUARANTEED ]; }
check "the container is promoted" wait_until 60 promoted
protected() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.low")" = $((96 << 20)) ]; }
check "the kernel has the promotion" wait_until 20 protected
check "the master and the ResourceManager know the promotion" wait_until 20 rm_counts "0 0"
is "the container has its new type" "$(light state "container=$o" | jq -r .type)" GUARANTEED
light update "container=$o" mb=128 >/dev/null
grown() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.max")" = $((128 << 20)) ]; }
check "the container's memory grows" wait_until 60 grown

# ---- nmd is replaced while they run -----------------------------------------------------------------

pid=$(field_of "$g" .pid)
systemctl restart nmd.service
check "a restarted nmd joins the cluster" wait_until 60 status_is .upstream.state running
is "the restarted nmd has both containers" "$(state_of "$g") $(state_of "$o")" "RUNNING RUNNING"
is "the containers are unchanged" "$(field_of "$g" .pid)" "$pid"
check "the nm-shuffle of the restarted nmd has the same scope" wait_until 30 in_scope
check "their master reaches the containers" wait_until 30 sub_state_is "$o" "RUNNING RUNNING"

# ---- the end of the containers ----------------------------------------------------------------------

light end "container=$o" >/dev/null
check "a container is stopped by its master" wait_until 60 ended "$o"
like "the master gets its own reason" "$(ends "$o")" '^-105 '
light finish >/dev/null
check "the other containers end with the application" wait_until 60 in_state "$g" COMPLETED
like "the record names the end of the application" "$(field_of "$g" .message)" "ResourceManager"
gone() { [ -z "$(ls -A "$local"/usercache/*/appcache 2>/dev/null)" ]; }
check "no file of the application is left on the disk" wait_until 60 gone
check "the logs of the application are left" test -s "$logs/$app/$g/stdout"

# ---- after a stop --------------------------------------------------------------------------------

systemctl stop nmd.service
no_helper() { ! pidof nm-shuffle nm-localizer nmd >/dev/null && [ ! -e "$cg/nm_shuffle.scope" ]; }
check "no process of a stopped nmd is left" wait_until 30 no_helper
check "the setup is undone" nmd --yarn-setup /etc/hadoop/conf --undo
is "the undo leaves nothing" "$(ls /etc/systemd/system/nmd.service.d/50-yarn.conf /etc/nmd/nmd.conf.d/50-yarn.conf 2>/dev/null)" ""
is "the directories have their former owners" "$(stat -c %U $local $logs | sort -u)" daemon
done_testing
