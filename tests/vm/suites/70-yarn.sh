#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# host: yarn
#
# An operator replaces Java's NodeManager by nmd, with the package, the cluster's own yarn-site.xml, one command and a restart.
# Then the operator reverts the change.
# The stock ResourceManager and an application master run on the host (tests/vm/host-yarn). Containers run in the guest, in
# scopes with real limits.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"
# shellcheck source=tests/vm/data/yarn.sh
. "$NMD_VM_DATA/yarn.sh"
check "the ResourceManager and the application master on the host respond" wait_until 30 light apps

# ---- the steps of the operator --------------------------------------------------------------------

# The guest has no Java, in which a JVM would take minutes to start. A script takes its place and speaks the lines of the process
# (aux-host/README). tests/yarn/59-java-services has the real process. While the file eat exists, each line makes the script use more
# memory than its limit.
java=/usr/local/lib/nmd-test
service_in_java() {
    mkdir -p $java
    cat >$java/java <<'END'
#!/bin/bash
echo '{"listening": 1}'
while read -r _; do
    [ ! -e /usr/local/lib/nmd-test/eat ] || eaten=$(head -c 300M /dev/zero | tr '\0' x)
    echo '{"ok": {}}'
done
END
    chmod 755 $java/java
    touch $java/host.jar $java/hadoop-yarn-server-nodemanager.jar
    sed -i "s|<value>mapreduce_shuffle</value>|<value>mapreduce_shuffle,vendor</value>|; s|</configuration>||" \
        /etc/hadoop/conf/yarn-site.xml
    printf '  <property><name>%s</name><value>%s</value></property>\n' \
        yarn.nodemanager.aux-services.vendor.class com.example.Vendor nmd.aux-host.java $java/java nmd.aux-host.jar $java/host.jar \
        nmd.aux-host.class-path $java/hadoop-yarn-server-nodemanager.jar nmd.aux-host.memory-mb 64 >>/etc/hadoop/conf/yarn-site.xml
    echo '</configuration>' >>/etc/hadoop/conf/yarn-site.xml
}
at_exit "rm -rf $java"

yarn_site 700
service_in_java
mkdir -p /etc/nmd/nmd.conf.d # other suites write their settings here, so the undo must not remove this directory
chown daemon: $local $logs # the owner that another NodeManager's directories have
printed=$(nmd --yarn-setup /etc/hadoop/conf) || diag "$printed"
like "nmd --yarn-setup writes the drop-in of the unit" "$printed" "made    /etc/systemd/system/nmd.service.d/50-yarn.conf"
like "the setup reports that the ResourceManager answers" "$printed" "ResourceManager $host:$tracker_port .*answers"
like "the setup changes the owner of the directories to root" "$printed" "changed $local: .* to 0:0 and 0755"
systemctl daemon-reload
like "systemd uses the addresses of the drop-in" "$(unit_prop nmd.service IPAddressAllow)" "${host//./\\.}"
swapoff -a
at_exit 'swapon -a'
quick_nmd
check "the node joins the cluster after the restart" wait_until 60 status_is .upstream.state running || done_testing
is "the node has the memory of yarn-site.xml" "$(status_of '.node.capacity | "\(.memory_bytes / 1048576)"')" 700
is "the ResourceManager has the node with the same memory" "$(rm_node '"\(.state) \(.availMemoryMB)"')" "RUNNING 700"

# ---- a guaranteed container, and one that uses too much ------------------------------------------------

g=$(one_more mb=160 'cmd=echo hello; exec sleep 1001')
like "the container has an id from YARN" "$g" '^container_'
check "the container is running on this node" wait_until 60 in_state "$g" RUNNING
scope=nm-$g.scope
is "the scope of YARN's container is active" "$(systemctl is-active "$scope")" active
is "the kernel has the memory limit of YARN's container" "$(cat "$cg/nm.slice/$scope/memory.max")" $((160 << 20))
is "the kernel has the memory protection of YARN's container" "$(cat "$cg/nm.slice/$scope/memory.low")" $((160 << 20))
is "the container runs as the user from yarn-site.xml" "$(ps -o user= -p "$(field_of "$g" .pid)")" alice
app=$(light apps | jq -r '.[0].id')
is "nmctl shows the application of the container" "$(field_of "$g" .app)" "$app"
check "the output is in the log directory of yarn-site.xml" grep -qx hello "$logs/$app/$g/stdout"

# ---- CPU weight of nm-shuffle ------------------------------------------------------------------------

# The cgroup of nm-shuffle is beside the slice. So its weight competes with the container's share of the slice's weight.
in_scope() { [ "$(cat "$cg/nm_shuffle.scope/cgroup.procs" 2>/dev/null)" = "$(pidof nm-shuffle)" ]; }
check "nm-shuffle runs in its own scope" wait_until 30 in_scope
is "systemd knows the scope of nm-shuffle" "$(systemctl is-active nm_shuffle.scope)" active
systemctl daemon-reload
weight=$(cat "$cg/nm_shuffle.scope/cpu.weight")
of_container=$(($(cat "$cg/nm.slice/cpu.weight") * $(cat "$cg/nm.slice/$scope/cpu.weight") / 10000))
at_least "nm-shuffle has twice the CPU weight of a guaranteed container with one vcore" "$of_container" $((2 * weight))
is "nm-shuffle has the nice value of containers" "$(ps -o ni= -p "$(pidof nm-shuffle)" | tr -d ' ')" 0

# ---- memory of auxiliary services in Java -------------------------------------------------------------

aux() { status_of ".upstream.aux_host.$1"; } # JQ-EXPRESSION
aux_in_scope() { grep -qx "$(aux pid)" "$cg/nm_aux.scope/cgroup.procs"; }
check "the process of the services runs in its own scope" wait_until 30 aux_in_scope
is "the kernel has the memory limit of the services" "$(cat "$cg/nm_aux.scope/memory.max")" $((64 << 20))
is "the process runs as its own user" "$(ps -o user= -p "$(aux pid)")" nmd-aux
like "nmctl status shows the limit" "$(nmctl status)" 'services +vendor in Java: running, .* of 64(\.0)? MiB'
touch $java/eat
meanwhile=$(one_more mb=32 'cmd=exec sleep 1003')
aux_has_ended() { [ "$(aux restarts)" -ge 1 ]; }
check "a process that needs more memory is killed" wait_until 60 aux_has_ended
is "the kernel has killed it" "$(aux trouble)" "the process of the auxiliary services was killed by signal 9"
check "containers run while the services are away" wait_until 60 in_state "$meanwhile" RUNNING
is "the other container still runs" "$(state_of "$g")" RUNNING
rm $java/eat
check "the process is started again, in its scope" wait_until 60 aux_in_scope
light end "container=$meanwhile" >/dev/null

greedy=$(one_more mb=64 'cmd=head -c 300M /dev/zero | tail -c 300M')
check "a container that uses more memory than requested ends" wait_until 120 ended "$greedy"
like "the ResourceManager reports to the application master that the kernel killed the container" "$(ends "$greedy")" \
    "^-104 .*beyond the 'PHYSICAL' memory limit"
is "the other container is not killed" "$(state_of "$g")" RUNNING

# ---- an opportunistic container ----------------------------------------------------------------------

o=$(one_more mb=96 type=OPPORTUNISTIC 'cmd=exec sleep 1002')
check "an opportunistic container is running" wait_until 60 in_state "$o" RUNNING
is "the opportunistic container has no memory protection" "$(cat "$cg/nm.slice/nm-$o.scope/memory.low")" 0
rm_counts() { [ "$(rm_node '"\(.numRunningOpportContainers) \(.numQueuedContainers)"')" = "$1" ]; }
check "the ResourceManager counts the opportunistic container as opportunistic" wait_until 20 rm_counts "1 0"
sub_state() { light state "container=$1" | jq -r '"\(.state) \(.sub_state)"'; } # ID: the state that its master gets
sub_state_is() { [ "$(sub_state "$1")" = "$2" ]; }
nmctl pause "$o" >/dev/null
check "the opportunistic container is paused when CPU is needed" wait_until 20 in_state "$o" PAUSED
is "the cgroup of the paused container is frozen" "$(field "$cg/nm.slice/nm-$o.scope/cgroup.events" frozen)" 1
check "the application master gets the paused state" wait_until 20 sub_state_is "$o" "RUNNING PAUSED"
nmctl resume "$o" >/dev/null
check "the application master gets the running state after the resume" wait_until 20 sub_state_is "$o" "RUNNING RUNNING"

light update "container=$o" type=GUARANTEED >/dev/null
promoted() { [ "$(field_of "$o" .execution_type)" = GUARANTEED ]; }
check "the application master promotes the container" wait_until 60 promoted
protected() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.low")" = $((96 << 20)) ]; }
check "the kernel has the memory protection of the promoted container" wait_until 20 protected
check "the ResourceManager no longer counts the container as opportunistic" wait_until 20 rm_counts "0 0"
is "the application master gets the new execution type" "$(light state "container=$o" | jq -r .type)" GUARANTEED
light update "container=$o" mb=128 >/dev/null
grown() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.max")" = $((128 << 20)) ]; }
check "the application master increases the container's memory" wait_until 60 grown

# ---- nmd is restarted while containers are running ---------------------------------------------------

pid=$(field_of "$g" .pid)
systemctl restart nmd.service
check "a restarted nmd joins the cluster again" wait_until 60 status_is .upstream.state running
is "a restarted nmd adopts both containers" "$(state_of "$g") $(state_of "$o")" "RUNNING RUNNING"
is "a restart of nmd does not change the container's process" "$(field_of "$g" .pid)" "$pid"
check "after a restart of nmd, nm-shuffle runs in its scope again" wait_until 30 in_scope
check "after a restart of nmd, the application master can query its containers" wait_until 30 sub_state_is "$o" "RUNNING RUNNING"

# ---- the end of the containers ----------------------------------------------------------------------

light end "container=$o" >/dev/null
check "the application master stops a container" wait_until 60 ended "$o"
like "the application master gets the exit status of a container that it stopped" "$(ends "$o")" '^-105 '
light finish >/dev/null
check "the other containers end when the application ends" wait_until 60 in_state "$g" COMPLETED
like "the container's message says that the ResourceManager ended the application" "$(field_of "$g" .message)" "ResourceManager"
gone() { [ -z "$(ls -A "$local"/usercache/*/appcache 2>/dev/null)" ]; }
check "the local files of the ended application are removed" wait_until 60 gone
check "the logs of the ended application are not removed" test -s "$logs/$app/$g/stdout"

# ---- after a stop --------------------------------------------------------------------------------

systemctl stop nmd.service
no_helper() {
    ! pidof nm-shuffle nm-localizer nmd >/dev/null && ! pgrep -u nmd-aux >/dev/null && [ ! -e "$cg/nm_shuffle.scope" ] &&
        [ ! -e "$cg/nm_aux.scope" ]
}
check "no process is left after nmd was stopped" wait_until 30 no_helper
check "nmd --yarn-setup --undo succeeds" nmd --yarn-setup /etc/hadoop/conf --undo
is "the undo removes both configuration files" \
    "$(ls /etc/systemd/system/nmd.service.d/50-yarn.conf /etc/nmd/nmd.conf.d/50-yarn.conf 2>/dev/null)" ""
is "the undo restores the owner of the directories" "$(stat -c %U $local $logs | sort -u)" daemon
done_testing
