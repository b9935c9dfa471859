#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# nmd --migrate-check reads the files of a cluster of Hadoop's NodeManagers and reports what to set, what differs and what stays
# the same. The suite has the files of six kinds of clusters. It runs nmd as a user without privileges, if it can.

# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

make_shared_dir # defines shared
conf=$shared/conf
mkdir "$conf"
xml() { # FILE NAME VALUE...: writes a file of properties
    local file=$1
    shift
    {
        echo '<configuration>'
        printf '<property><name>%s</name><value>%s</value></property>\n' "$@"
        echo '</configuration>'
    } >"$conf/$file"
}
cluster() { # starts with an empty directory
    rm -rf "$conf"
    mkdir "$conf"
}
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
cp "$NMD" "$shared/nmd" # a build directory may be closed to other users
check_migration() { # OPTION...: runs the check, and sets $out, $err and $status
    try timeout 20 "${user[@]}" "$shared/nmd" --migrate-check "$conf" "$@"
}
# Runs the check with --json. Writes "NEED PROPERTY=VALUE FILE" for each entry of a group to $dir/GROUP, and "PROPERTY SENTENCE"
# for all of them to $dir/sentences.
check_as_json() {
    check_migration --json
    python3 -c 'import json, sys
report = json.load(sys.stdin)
sentences = open(sys.argv[1] + "/sentences", "w")
for group in "set", "differs", "same":
    with open(sys.argv[1] + "/" + group, "w") as f:
        for e in report[group]:
            print(e.get("need", ""), "%s=%s" % (e["property"], e["value"]), (e["file"] or "default").split("/")[-1], file=f)
            print(e["property"], e["sentence"], file=sentences)' "$dir" <<<"$out"
}
entries() { cat "$dir/$1"; }                                    # GROUP
sentence() { sed -n "s|^$1 ||p" "$dir/sentences"; }             # PROPERTY: prints its sentences
tree() { (cd "$conf" && find . -printf '%p %y %m %U:%G %T@\n' | sort && find . -type f -exec sha256sum {} + | sort); }
lacks() { # NAME TEXT REGEX
    if grep -qE "$3" <<<"$2"; then not_ok "$1" "$2"; else ok "$1"; fi
}
nm=yarn.nodemanager
no_limit=$nm.linux-container-executor.nonsecure-mode.limit-users

# ---- plain -------------------------------------------------------------------------------------------

cluster
xml core-site.xml fs.defaultFS hdfs://nn:8020
xml yarn-site.xml yarn.resourcemanager.hostname rm $nm.address 0.0.0.0:45454 $nm.aux-services mapreduce_shuffle \
    $nm.resource.memory-mb 65536 $nm.resource.cpu-vcores 16 $nm.vmem-check-enabled false $nm.container-manager.thread-count 40 \
    $nm.local-dirs /data/1/local,/data/2/local $nm.log-dirs /data/1/logs yarn.scheduler.maximum-allocation-mb 8192
before=$(tree)
check_migration
is "plain cluster: something must be set, since MapReduce needs the submitter's account" "$status $err" "1 "
like "the report begins with the numbers of entries" "$(head -n 1 <<<"$out")" "^$conf: [0-9]+ to set, [0-9]+ different, [0-9]+ the same$"
like "the report names the need, the property, the value, the file and the value to set" "$out" \
    "^  needed: $no_limit = true \(by default\); set it to false$"
like "the report has a sentence for each entry" "$out" "^      All containers run as nobody\. MapReduce, "
like "memory limits are enforced in another way" "$(tr -s '\n ' ' ' <<<"$out")" \
    "pmem-check-enabled = true \(by default\) The kernel enforces the memory limit of each container by cgroup v2"
like "properties of other services are only counted" "$out" "^1 other properties are for other services or for jobs\.$"
is "no line of the report's sentences is longer than 100 columns" "$(grep -E '^      ' <<<"$out" | awk 'length > 100')" ""
check_as_json
is "the JSON report has the same exit status" "$status $err" "1 "
is "plain cluster: the entry that must be set" "$(entries set | grep -v ^suggested)" "needed $no_limit=true default"
like "plain cluster: values of the files that stay the same" "$(entries same)" "^ $nm.resource.memory-mb=65536 yarn-site.xml$"
like "the sentence of a supported property is that of nmctl config" "$(sentence $nm.resource.memory-mb)" \
    "^Memory for containers, if nmd.conf"
like "a thread pool of Java makes no difference" "$(entries same)" "$nm.container-manager.thread-count=40 yarn-site.xml"
like "virtual memory is not limited" "$(sentence $nm.vmem-check-enabled)" "doesn't limit virtual memory"
like "HDFS is read by WebHDFS" "$(sentence $nm.localizer.address)" "WebHDFS"
is "--migrate-check changes no file" "$(tree)" "$before"

xml yarn-site.xml yarn.resourcemanager.hostname rm $nm.address 0.0.0.0:45454 $nm.aux-services mapreduce_shuffle $no_limit false
printf 'min.user.id=500\nbanned.users=hdfs\n' >"$conf/container-executor.cfg"
check_as_json
is "a cluster in which nothing must be set: exit status 0" "$status $(entries set | grep -v ^suggested)" "0 "
like "container-executor.cfg is in the report" "$(entries same)" "^ min.user.id=500 container-executor.cfg$"
lacks "a set min.user.id is no longer suggested" "$(entries set)" "min.user.id"

# ---- a distribution ----------------------------------------------------------------------------------

cluster
xml core-site.xml fs.defaultFS hdfs://ns hadoop.security.authentication simple hadoop.security.authorization false
xml hdfs-site.xml dfs.nameservices ns dfs.ha.namenodes.ns a,b dfs.namenode.http-address.ns.a a:9870 dfs.namenode.http-address.ns.b b:9870
xml yarn-site.xml yarn.resourcemanager.ha.enabled true yarn.resourcemanager.ha.rm-ids rm1,rm2 yarn.resourcemanager.hostname.rm1 m1 \
    yarn.resourcemanager.hostname.rm2 m2 $nm.address 0.0.0.0:8041 $nm.aux-services mapreduce_shuffle,spark2_shuffle,timeline_collector \
    $nm.aux-services.spark2_shuffle.class org.apache.spark.network.yarn.YarnShuffleService \
    $nm.container-executor.class org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor $no_limit false \
    $nm.linux-container-executor.group hadoop $nm.linux-container-executor.cgroups.hierarchy hadoop-yarn \
    $nm.linux-container-executor.resources-handler.class org.apache.hadoop.yarn.server.nodemanager.util.CgroupsLCEResourcesHandler \
    $nm.recovery.enabled true $nm.recovery.dir /var/log/hadoop-yarn/recovery $nm.vmem-pmem-ratio 2.1 \
    $nm.kill-escape.user hive yarn.timeline-service.enabled true yarn.timeline-service.version 2.0f \
    $nm.health-checker.script.path /etc/hadoop/conf/health_check $nm.remote-app-log-dir /app-logs \
    $nm.admin-env.LD_LIBRARY_PATH /opt/lib $nm.resource.percentage-physical-cpu-limit 80
check_as_json
is "distribution: the refused values" "$status $(entries set | grep -v ^suggested)" \
    "1 refused $nm.aux-services=mapreduce_shuffle,spark2_shuffle,timeline_collector yarn-site.xml"
like "distribution: the sentence is that of --check-config" "$(sentence $nm.aux-services)" \
    "^the service 'timeline_collector' has no class; set "
for p in "yarn.timeline-service.enabled=true" "$nm.linux-container-executor.group=hadoop" "$nm.recovery.dir=/var/log" \
    "$nm.kill-escape.user=hive" "$nm.resource.percentage-physical-cpu-limit=80" "$nm.health-checker.script.path=/etc"; do
    like "distribution: $p differs" "$(entries differs)" "^ $p.* yarn-site.xml$"
done
like "distribution: an unknown name is reported" "$(sentence $nm.kill-escape.user)" "^Unknown to Hadoop"
for p in "dfs.namenode.http-address.ns.a=a:9870 hdfs-site.xml" "$nm.admin-env.LD_LIBRARY_PATH=/opt/lib yarn-site.xml" \
    "yarn.resourcemanager.ha.enabled=true yarn-site.xml" "hadoop.security.authentication=simple core-site.xml"; do
    like "distribution: $p is the same" "$(entries same)" "^ $p$"
done

# ---- secure ------------------------------------------------------------------------------------------

cluster
xml core-site.xml hadoop.security.authentication kerberos hadoop.security.authorization true hadoop.rpc.protection privacy
xml yarn-site.xml yarn.resourcemanager.hostname rm $nm.principal yarn/_HOST@EXAMPLE.ORG $nm.keytab /etc/yarn.keytab \
    yarn.http.policy HTTPS_ONLY $nm.address 0.0.0.0:45454 $no_limit false
check_as_json
is "secure cluster: everything that nmd would refuse, at once" "$status
$(entries set | sed -n 's/^refused \([^=]*\)=.*/\1/p')" "1
hadoop.rpc.protection
hadoop.security.authentication
yarn.http.policy"
like "secure cluster: the reason" "$(sentence hadoop.security.authentication)" "without Kerberos"
like "secure cluster: the keytab has no effect" "$(entries differs)" "$nm.keytab=/etc/yarn.keytab"

# ---- docker and GPU ----------------------------------------------------------------------------------

cluster
xml yarn-site.xml yarn.resourcemanager.hostname rm $nm.runtime.linux.allowed-runtimes default,docker $nm.runtime.linux.type docker \
    $nm.runtime.linux.docker.privileged-containers.allowed false $no_limit false $nm.address 0.0.0.0:45454
printf 'min.user.id=1000\n[docker]\n  module.enabled=true\n  docker.binary=/usr/bin/docker\n' >"$conf/container-executor.cfg"
check_as_json
like "docker: a default runtime with images is refused" "$status $(entries set)" "1 refused $nm.runtime.linux.type=docker yarn-site.xml"
like "docker: an allowed runtime is only a difference" "$(sentence $nm.runtime.linux.allowed-runtimes)" \
    "^containers that request a runtime other than the default fail"
like "docker: a detail has no effect" "$(sentence $nm.runtime.linux.docker.privileged-containers.allowed)" "without images"
check_migration
like "docker: the module in container-executor.cfg is in the report" "$out" \
    "container-executor.cfg, line 3: \[docker\] module.enabled: containers"

cluster
xml yarn-site.xml yarn.resourcemanager.hostname rm $nm.resource-plugins yarn.io/gpu $no_limit false \
    $nm.resource-plugins.gpu.allowed-gpu-devices 0:0,1:1 $nm.address 0.0.0.0:45454
xml resource-types.xml yarn.resource-types yarn.io/gpu yarn.resource-types.yarn.io/gpu.maximum-allocation 4
printf '[gpu]\nmodule.enabled=true\ngpu.allowed-device-minor-numbers=0,1\n' >"$conf/container-executor.cfg"
check_as_json
is "GPU: nothing is refused" "$status $(entries set | grep -v ^suggested)" "0 "
like "GPU: the isolation differs" "$(sentence $nm.resource-plugins)" "DeviceAllow.*guaranteed container that needs a GPU ends"
like "GPU: the list is the same" "$(entries same)" "$nm.resource-plugins.gpu.allowed-gpu-devices=0:0,1:1 yarn-site.xml"
like "GPU: container-executor.cfg is obeyed" "$(entries same)" "gpu.allowed-device-minor-numbers=0,1"

# Everything that needs devices or images which nmd doesn't have, at once.
cluster
xml yarn-site.xml yarn.resourcemanager.hostname rm $no_limit false $nm.address 0.0.0.0:45454 \
    $nm.resource-plugins yarn.io/fpga $nm.resource-plugins.fpga.allowed-fpga-devices 0 \
    $nm.pluggable-device-framework.enabled true $nm.pluggable-device-framework.device-classes com.example.Device \
    $nm.network-tagging-handler.enabled true $nm.numa-awareness.enabled true $nm.runtime.linux.type runc \
    yarn.timeline-service.enabled true $nm.node-labels.provider org.example.Labels
xml resource-types.xml yarn.resource-types yarn.io/gpu,yarn.io/fpga
xml node-resources.xml $nm.resource-type.yarn.io/gpu 2 $nm.resource-type.yarn.io/fpga 1
printf '[fpga]\nmodule.enabled=true\n' >"$conf/container-executor.cfg"
refused="$nm.resource-plugins $nm.pluggable-device-framework.enabled $nm.network-tagging-handler.enabled $nm.runtime.linux.type
    $nm.resource-type.yarn.io/gpu $nm.resource-type.yarn.io/fpga"
check_migration
report=$(tr -s '\n ' ' ' <<<"$out")
timeout 20 "$NMD" --check-config --yarn-conf "$conf" --config /dev/null --state-dir "$dir/state" --runtime-dir "$dir/run" \
    >"$dir/check" 2>&1 && status=0 || status=$?
is "devices: --check-config refuses" "$status" 1
for name in $refused; do
    like "devices: the report refuses $name" "$report" "refused: ${name//./\\.} = "
    like "devices: --check-config refuses $name in the same run" "$(<"$dir/check")" "${name//./\\.}( = |:)"
done
for words in "numa-awareness.enabled = 'true': the kernel chooses" "timeline-service.enabled = 'true': this node publishes nothing"; do
    like "devices: --check-config warns: $words" "$(<"$dir/check")" "$words"
done
for words in "numa-awareness.enabled = true .yarn-site.xml. The kernel chooses" \
    "container-executor.cfg.*fpga. module.enabled = 'true': nmd doesn't prevent"; do
    like "devices: the report has: $words" "$report" "$words"
done

cluster
xml yarn-site.xml yarn.resourcemanager.hostname rm $no_limit false $nm.address 0.0.0.0:45454 \
    $nm.node-labels.provider org.example.Labels yarn.resource-types license $nm.resource-type.license 4
check_as_json
is "labels: a provider in Java is refused, and a countable resource is not" "$status $(entries set | grep -v ^suggested)" \
    "1 refused $nm.node-labels.provider=org.example.Labels yarn-site.xml"
like "resources: what opportunistic containers get of it differs" "$(entries differs)" \
    "^ $nm.resource-type.license=4 yarn-site.xml$"

# ---- failures ----------------------------------------------------------------------------------------

xml yarn-site.xml yarn.resourcemanager.hostname rm $nm.resource.memory-mb much nmd.lending all $no_limit false
check_migration
like "an invalid value is refused once" "$status $(grep -c 'memory-mb = much' <<<"$out") $(tr -s '\n ' ' ' <<<"$out")" \
    "^1 1 .*memory-mb = much \(yarn-site.xml\) The value must be "
like "a contradiction between properties is refused" "$(tr -s '\n ' ' ' <<<"$out")" \
    "refused: nmd.lending = all \(yarn-site.xml\) Lending needs .* are allowed\. "
printf '<configuration><property>' >"$conf/yarn-site.xml"
check_migration
like "a damaged file: exit status 2" "$status $out$err" "^2 nmd: .*yarn-site.xml"
cluster
mkfifo "$conf/yarn-site.xml"
check_migration
like "a pipe in place of a file: exit status 2" "$status $out$err" "^2 nmd: .*yarn-site.xml: can't read: it is not a regular file"
cluster
xml yarn-site.xml yarn.resourcemanager.hostname rm $no_limit false
mkfifo "$conf/container-executor.cfg"
check_migration
like "a pipe in place of container-executor.cfg is reported" "$status $(tr -s '\n ' ' ' <<<"$out")" \
    "^1 .*container-executor.cfg: it is not a regular file"
rm -r "$conf"
odd=$dir/$(printf 'odd\377')
mkdir "$odd"
printf '<configuration/>' >"$odd/yarn-site.xml"
try timeout 20 "$NMD" --migrate-check "$odd" --json
is "a directory whose name isn't UTF-8 has a report" "$status $(jq -r '.directory | endswith("odd?")' <<<"$out")" "1 true"
check_migration
like "a missing directory: exit status 2" "$status $out$err" "^2 nmd: .*$conf: can't open: No such file"
try timeout 20 "$NMD" --json
like "--json alone is a wrong command line" "$status $err" "^2 .*--json requires --migrate-check"
try timeout 20 "$NMD" --migrate-check "$shared" --check-config
like "--migrate-check can't be combined with --check-config" "$status $err" "^2 .*can't be combined"

done_testing
