#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# beside: others
#
# The pages and figures at the NodeManager's web port: /ws/v1/node, /jmx, /conf, and the pages for people. Each answer of nmd is
# compared, field by field, with the answer of a Java NodeManager of the same size with equal containers in the same run
# (fields.py). fields.table has the differences that are permitted, each with its reason. Also: the queries of common monitoring
# programs, access lists, and the property that disables data of users over TCP.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
beside=$(cd "$(dirname "$0")" && pwd)

jobs_fs=local
# Java's beans are at most as old as the period of its metrics system.
need 'a cluster can be configured' jobs_configure yarn.resourcemanager.connect.max-wait.ms=60000
echo '*.period=1' >"$conf/hadoop-metrics2.properties"
need "the host's memory can be simulated" node_proc_start 6000 8
cd "$shared/work" || exit

# ---- two nodes, each with an application of alice that has two containers ----

# All programs start at the same time, and the nodes wait for the ResourceManager. Java counts an application until its logs are
# removed.
options=(yarn.nodemanager.admin-env.A_password=secret yarn.nodemanager.log.retain-seconds=1 yarn.log-aggregation-enable=false)
own=$shared/node1
rm_launch_early
node_mb=384 java_node_start 4 "${options[@]}" "$pausing=true"
node_mb=384 need 'nmd starts' nmd_node_start 1 "${options[@]}"
HADOOP_USER_NAME=alice need 'application masters can be registered' cluster_start 0
need 'a stock ResourceManager answers' rm_again
need 'a Java NodeManager registers' wait_until 60 node_is 4 RUNNING
need 'nmd registers' wait_until 60 node_is 1 RUNNING

cat >files.sh <<'END'
echo out
echo ready >>"$1.ready"
until [ -e "$1" ]; do sleep 0.1; done
END
echo 'a resource' >it
touch -d @0 it # the light cluster requests a resource with this time
lines_are() { [ "$(wc -l <"$1")" = "$2" ]; } # FILE N
# The second container starts after the first one, so that it gets the resource from the cache on both nodes.
begin() { # NAME NODE N: starts the Nth container of an application
    light "ask?app=$1&n=1&mb=128&host=$2&strict&url=file://$PWD/it&cmd=exec+bash+$PWD/files.sh+$PWD/go-$1" >/dev/null &&
        wait_until 60 lines_are "go-$1.ready" "$3"
}
for n in 1 2; do
    check "container $n on the Java NodeManager runs" begin java node04 "$n"
    check "container $n on nmd runs" begin nmd node01 "$n"
done

jweb=http://node04:7403 web=http://node01:7103
first_of() { light "containers?app=$1" | jq -r '[.[] | select(.node) | .id] | min'; } # NAME
jid=$(first_of java) id=$(first_of nmd)
like 'nmd has the container' "$id" '^container_.*_000001$'
app_of() { sed -E 's/container_(e[0-9]+_)?([0-9]+_[0-9]+)_.*/application_\2/' <<<"$1"; } # CONTAINER
japp=$(app_of "$jid") app=$(app_of "$id")

: >"$dir/used"
fields() { python3 -B "$beside/fields.py" "$@"; }
# Compares the answers to the same request. In the path, ID and APP stand for the container and the application.
same_fields() { # NAME DOCUMENT PATH CURL-OPTION...
    local name=$1 document=$2 path=$3
    shift 3
    curl -sS "$@" "$jweb$(sed "s/ID/$jid/; s/APP/$japp/" <<<"$path")" >"$dir/java.json"
    curl -sS "$@" "$web$(sed "s/ID/$id/; s/APP/$app/" <<<"$path")" >"$dir/nmd.json"
    is "$name: each field is the same, or its difference has a reason" \
        "$(fields "$document" "$beside/fields.table" "$dir/used" "$dir/java.json" "$dir/nmd.json" 2>&1)" ''
}

# ---- web services ----

node=/ws/v1/node
same_fields 'the node' info $node
same_fields 'the node, by the other path' info $node/info
same_fields 'applications' apps $node/apps
same_fields 'applications that run' apps "$node/apps?state=RUNNING"
same_fields 'applications of a user' apps "$node/apps?user=alice"
same_fields 'applications of another user' none "$node/apps?user=bob"
same_fields 'applications that have ended' none "$node/apps?state=FINISHED"
same_fields 'an application' app $node/apps/APP
same_fields 'containers' containers $node/containers
same_fields 'a container' container $node/containers/ID
same_fields 'a resource without devices' resource $node/resources/memory-mb
same_fields 'an unknown resource' resource $node/resources/no-such-resource
same_fields 'GPUs of a node without their plugin' resource $node/resources/yarn.io%2Fgpu
for path in $node/apps/application_1_0001 $node/apps/x $node/containers/container_1_0001_01_000001 $node/containers/x \
    "$node/apps?user=" $node/auxiliaryservices; do
    same_fields "the error of $path" error "$path"
done

as_xml=(-H 'Accept: application/xml')
same_fields 'the node as XML' info-xml $node/info "${as_xml[@]}"
same_fields 'applications as XML' apps $node/apps "${as_xml[@]}"
same_fields 'an application as XML' app $node/apps/APP "${as_xml[@]}"
same_fields 'containers as XML' containers-xml $node/containers "${as_xml[@]}"
same_fields 'a container as XML' container $node/containers/ID "${as_xml[@]}"
same_fields 'an error as XML' error $node/containers/x "${as_xml[@]}"

# ---- /jmx ----

metrics=Hadoop:service=NodeManager,name=NodeManagerMetrics
bean() { curl -sS "$1/jmx?qry=$2" | jq ".beans[0].$3"; } # ADDRESS NAME ATTRIBUTE
is_now() { [ "$(bean "$1" "$2" "$3")" = "$4" ]; }            # ADDRESS NAME ATTRIBUTE VALUE
check 'Java counts its containers, at most every second' wait_until 30 is_now "$jweb" "$metrics" ContainersRunning 2
is 'nmd counts its containers' "$(bean "$web" "$metrics" ContainersRunning)" 2
same_fields 'NodeManagerMetrics' metrics "/jmx?qry=$metrics"
same_fields 'all beans' beans /jmx
same_fields 'all beans, by an empty pattern' beans '/jmx?qry='
same_fields 'one attribute' get "/jmx?get=$metrics::AllocatedVCores"
same_fields 'an unknown attribute' get "/jmx?get=$metrics::NoSuchAttribute"
same_fields 'an unknown bean' get '/jmx?qry=Hadoop:service=NameNode,name=*'
same_fields 'an attribute of an unknown bean' get '/jmx?get=Hadoop:service=DataNode::x'
same_fields 'a request without an attribute' get "/jmx?get=$metrics"
same_fields 'a pattern' pattern '/jmx?qry=Hadoop:*,name=Jv?Metrics'
code_of() { curl -sS -o /dev/null -w '%{http_code}' "$@"; }
for query in "?get=$metrics::AllocatedVCores" "?get=$metrics::NoSuchAttribute" "?get=$metrics" '?get=x::y' '?qry=x' '?qry=Hadoop:a' \
    '?qry=other:*' '?qry=*:*' '?qry=Hadoop:service=NodeManager' ''; do
    is "/jmx$query has the same status" "$(code_of "$web/jmx$query")" "$(code_of "$jweb/jmx$query")"
done

# The attributes that monitoring programs ask for: Ambari's metrics of a NodeManager, Zabbix's template for Hadoop, and rules of
# Prometheus's JMX exporter and of exporters for /jmx.
no_numbers() { # reads names and attributes, and prints those that aren't numbers
    jq -rR --slurpfile all <(curl -sS "$web/jmx") 'split(" ") as [$name, $attribute] |
        select([$all[0].beans[] | select(.name == $name) | getpath($attribute | split(".")) | type] != ["number"])'
}
hadoop=Hadoop:service=NodeManager,name
is 'the usual queries get numbers' "$(no_numbers <<END
$(printf "$hadoop=JvmMetrics %s\n" MemHeapUsedM MemHeapCommittedM MemHeapMaxM MemNonHeapUsedM MemNonHeapCommittedM GcCount \
    GcTimeMillis LogError LogFatal LogInfo LogWarn ThreadsBlocked ThreadsNew ThreadsRunnable ThreadsTerminated ThreadsTimedWaiting \
    ThreadsWaiting)
$(printf "$hadoop=NodeManagerMetrics %s\n" AllocatedContainers AllocatedGB AllocatedVCores AvailableGB AvailableVCores \
    ContainersCompleted ContainersFailed ContainersIniting ContainersKilled ContainersLaunched ContainersRunning \
    ContainerLaunchDurationNumOps ContainerLaunchDurationAvgTime BadLocalDirs BadLogDirs GoodLocalDirsDiskUtilizationPerc \
    GoodLogDirsDiskUtilizationPerc ContainerCpuUtilization NodeCpuUtilization ContainerUsedMemGB ContainerUsedVMemGB)
$(printf "$hadoop=ShuffleMetrics %s\n" ShuffleConnections ShuffleOutputBytes ShuffleOutputsFailed ShuffleOutputsOK)
$(printf 'java.lang:type=%s\n' 'Runtime Uptime' 'Runtime StartTime' 'Threading ThreadCount' 'Memory HeapMemoryUsage.used' \
    'Memory NonHeapMemoryUsage.committed' 'OperatingSystem AvailableProcessors' 'OperatingSystem ProcessCpuTime')
END
)" ''

# ---- /conf ----

json=(-H 'Accept: application/json')
same_fields 'the configuration' conf /conf "${json[@]}"
same_fields 'one property' property '/conf?name=yarn.acl.enable' "${json[@]}"
same_fields 'a sensitive property' property '/conf?name=yarn.nodemanager.admin-env.A_password' "${json[@]}"
is 'the secret is not in the answer' "$(cat <(curl -sS "$web/conf") <(curl -sS "${json[@]}" "$web/conf") | grep -c '>secret<\|"secret"')" 0
xml_of() { # ADDRESS NAME: one property as XML
    curl -sS "$1/conf?name=$2" | python3 -c '
import sys, xml.etree.ElementTree as e
root = e.fromstring(sys.stdin.buffer.read())
print(root.tag, [[(c.tag, c.text) for c in p] for p in root])'
}
for name in yarn.acl.enable yarn.nodemanager.admin-env.A_password yarn.nodemanager.resource.cpu-vcores; do
    is "$name is the same as XML" "$(xml_of "$web" "$name")" "$(xml_of "$jweb" "$name")"
done
is 'the media types are the same' "$(curl -sSo /dev/null -w '%{content_type}' "$web/conf" | tr -d ' ')" \
    "$(curl -sSo /dev/null -w '%{content_type}' "$jweb/conf" | tr -d ' ')"
is 'an unknown property is not found' "$(code_of "$web/conf?name=no.such") $(code_of "$jweb/conf?name=no.such")" '404 404'
is 'the parameter format is also accepted' "$(curl -sS "$web/conf?format=json&name=yarn.acl.enable" | jq -r .property.value)" true
is 'another format is refused' "$(code_of "$web/conf?format=text")" 400

# ---- pages for people ----

page_of() { curl -sS -L "$web$1" | sed 's/<[^>]*>/ /g'; } # PATH: its text
for path in /node /node/node /node/allApplications /node/allContainers "/node/application/$app" "/node/container/$id"; do
    java_path=$(sed "s/$id/$jid/; s/$app/$japp/" <<<"$path")
    is "$path is a page, as with Java" "$(curl -sS -L -o /dev/null -w '%{http_code} %{content_type}' "$web$path" | tr -d ' ')" \
        "$(curl -sS -L -o /dev/null -w '%{http_code} %{content_type}' "$jweb$java_path" | tr -d ' ')"
done
is '/node/info is not found, as with Java' "$(code_of -L "$web/node/info") $(code_of -L "$jweb/node/info")" '404 404'
like 'the page of the node has its name' "$(page_of /node)" 'node01:7101'
like 'the page of all applications has the application' "$(page_of /node/allApplications)" "$app"
like 'the page of all containers has the container' "$(page_of /node/allContainers)" "$id"
like 'the page of the application has its user' "$(page_of "/node/application/$app")" alice
like 'the page of the container has its state' "$(page_of "/node/container/$id")" RUNNING
is 'the page of an unknown container is not found' "$(code_of "$web/node/container/container_1_0001_01_000001")" 404
is 'the page of an invalid id is refused' "$(code_of "$web/node/container/%3Cb%3E")" 400
is 'the id is escaped' "$(curl -sS "$web/node/container/%3Cb%3E" | grep -c '<b>')" 0
like 'a page forbids scripts' "$(curl -sSI -X GET "$web/node")" "Content-Security-Policy: default-src 'none'"
for path in /logLevel /stacks; do
    is "$path is not found" "$(code_of "$web$path")" 404
    like "$path says why" "$(curl -sS "$web$path")" '^nmd has no (loggers|threads) of Java\.'
done

# ---- who sees the data of users ----

shown() { # USER
    curl -sS "$web$node/containers/$id?user.name=$1" | jq -c '.container | [.user, .containerLogsLink != null, .diagnostics]'
}
is 'the user is shown to the owner' "$(shown alice)" '["alice",true,""]'
is 'the user is shown to an administrator' "$(shown root)" '["alice",true,""]'
is 'the user is not shown to a user who may not view the application' "$(shown bob)" '[null,false,null]'
is 'nor in a list' "$(curl -sS "$web$node/containers?user.name=bob" | jq -c '[.containers.container[].user] | unique')" '[null]'
is 'nor by a filter' "$(curl -sS "$web$node/apps?user.name=bob&user=alice" | jq -c .)" '{"apps":{}}'
is 'nor on a page' "$(curl -sS "$web/node/allContainers?user.name=bob" | grep -c alice)" 0
is 'an administrator sees it on a page' "$(curl -sS "$web/node/allContainers?user.name=root" | grep -c '<td>alice</td>')" 2

# ---- after the end ----

touch go-java go-nmd
ends_are() { [ "$(light "containers?app=$1" | jq -r '[.[].end] | join(" ")')" = '0  0 ' ]; } # NAME
check 'the containers of Java have ended' wait_until 30 ends_are java
check 'the containers of nmd have ended' wait_until 30 ends_are nmd
light 'finish?app=java' >/dev/null
light 'finish?app=nmd' >/dev/null
check 'Java counts the ends' wait_until 30 is_now "$jweb" "$metrics" ContainersCompleted 2
check 'nmd counts the ends' wait_until 30 is_now "$web" "$metrics" ContainersCompleted 2
check 'nmd has no application any more' wait_until 30 is_now "$web" "$metrics" ApplicationsRunning 0
check 'Java has no application any more' wait_until 60 is_now "$jweb" "$metrics" ApplicationsRunning 0
same_fields 'NodeManagerMetrics after the end' metrics "/jmx?qry=$metrics"
is 'each permitted difference was needed' "$(fields --unused "$beside/fields.table" "$dir/used")" ''
end_process "${java_nodes[4]}" KILL # otherwise it would wait for the removal of logs
unset 'java_nodes[4]'

# ---- the property that disables data of users over TCP ----

nmd_node_stop 1
node_mb=384 need 'nmd restarts without data of users' nmd_node_start 1 nmd.web.container-logs=false
need 'nmd registers again' wait_until 30 node_is 1 RUNNING
is 'a restarted nmd counts from 0' "$(bean "$web" "$metrics" ContainersCompleted)" 0
is 'a list by user is refused' "$(code_of "$web$node/apps?user=alice")" 403
check 'another container on nmd runs' begin last node01 1
is 'the users of containers are not shown' \
    "$(curl -sS "$web$node/containers" | jq -c '[.containers.container[] | .user, .diagnostics] | unique')" '[null]'
is 'nor on a page' "$(curl -sS "$web/node/allContainers" | grep -c alice)" 0
done_testing
