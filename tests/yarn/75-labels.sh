#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# The label and the attributes that a node reports to a stock ResourceManager with distributed labels: from a property and from
# scripts, accepted and refused, over restarts of both; jobs that run only on the labelled node; and a queue with a default label,
# to whose applications nothing is lent.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

labels=yarn.nodemanager.node-labels attributes=yarn.nodemanager.node-attributes
need 'the cluster is configured' jobs_configure "$distributed=true" yarn.node-labels.enabled=true \
    "yarn.application.classpath=$conf,$shared/lib/*" \
    yarn.node-labels.configuration-type=distributed "yarn.node-labels.fs-store.root-dir=file://$shared/labels" \
    "$cs.root.accessible-node-labels=*" "$cs.root.accessible-node-labels.fast.capacity=100" \
    "$cs.root.default.accessible-node-labels=*" \
    "$cs.root.accessible-node-labels.slow.capacity=100" "$cs.root.default.accessible-node-labels.slow.capacity=100" \
    "$cs.root.queues=default,labelled" "$cs.root.default.capacity=60" "$cs.root.labelled.capacity=40" \
    "$cs.root.default.accessible-node-labels.fast.capacity=50" "$cs.root.labelled.accessible-node-labels.fast.capacity=50" \
    "$cs.root.labelled.accessible-node-labels=fast" "$cs.root.labelled.default-node-label-expression=fast"
install -d "$shared/labels"
need 'a ResourceManager with distributed labels answers' rm_again
check 'an administrator adds the labels fast and slow' rm_admin -addToClusterNodeLabels 'fast(exclusive=true),slow'

# The scripts print the files $shared/label and $shared/attributes.
make_script() { # NAME
    printf '#!/bin/sh\n[ "$1" = now ] || exit 9\ncat %s/%s\n' "$shared" "$1" >"$shared/$1.sh"
    chmod 755 "$shared/$1.sh"
}
make_script label
make_script attributes
echo 'NODE_PARTITION:fast' >"$shared/label"
printf 'a line\nNODE_ATTRIBUTE:os,STRING,linux-6.1\n NODE_ATTRIBUTE:disk,STRING,ssd \n' >"$shared/attributes"

at_rm() { # N JQ-EXPRESSION
    rm_get nodes | jq -r --arg n "node0$1" ".nodes.node[] | select(.nodeHostName == \$n and .state == \"RUNNING\") | $2"
}
labels_at_rm() { at_rm "$1" '(.nodeLabels // []) | join(" ")'; } # N
labels_are() { [ "$(labels_at_rm "$1")" = "$2" ]; } # N LABELS
attributes_at_rm() { # N
    at_rm "$1" '[(.nodeAttributesInfo.nodeAttributeInfo // [])[] | "\(.prefix)/\(.name)=\(.value)"] | sort | join(" ")'
}
attributes_are() { [ "$(attributes_at_rm "$1")" = "$2" ]; } # N ATTRIBUTES
of_upstream() { nmctl status --json | jq -c ".upstream$1"; } # JQ-EXPRESSION
trouble_has() { [[ $(of_upstream ".$1.trouble") = *"$2"* ]]; } # MEMBER TEXT
upstream_has() { [ "$(of_upstream "$1")" = "$2" ]; } # JQ-EXPRESSION JSON

scripts=("$labels.provider=script" "$labels.provider.script.path=$shared/label.sh" "$labels.provider.script.opts=now"
    "$labels.provider.fetch-interval-ms=1000" "$attributes.provider=script"
    "$attributes.provider.script.path=$shared/attributes.sh" "$attributes.provider.script.opts=now"
    "$attributes.provider.fetch-interval-ms=1000")
scripts+=("$distributed=false")
need 'node 1 starts with a script for its label and one for its attributes' nmd_node_start 1 "${scripts[@]}"
check 'node 1 is registered' wait_until 60 node_is 1 RUNNING
is 'the registration contains the label of the script' "$(labels_at_rm 1)" fast
check 'the ResourceManager has the attributes of the script' \
    wait_until 20 attributes_are 1 'nm.yarn.io/disk=ssd nm.yarn.io/os=linux-6.1'
is 'nmctl status --json has the accepted label' "$(of_upstream '.node_labels')" \
    '{"labels":["fast"],"provider":"script","refusal":null,"state":"accepted","trouble":null}'
is 'nmctl status --json has the accepted attributes' "$(of_upstream '.node_attributes | .attributes, .state')" \
    '{"disk":"ssd","os":"linux-6.1"}
"accepted"'
like 'nmctl status shows the label' "$(nmctl status)" '^labels +fast; accepted by the cluster$'
like 'nmctl status shows the attributes' "$(nmctl status)" '^attributes +disk=ssd, os=linux-6.1; accepted by the cluster$'

# ---- changes

echo 'NODE_PARTITION:slow' >"$shared/label"
check 'a changed label reaches the ResourceManager with a heartbeat' wait_until 20 labels_are 1 slow
echo 'NODE_PARTITION:unknown' >"$shared/label"
check 'nmctl status says that the ResourceManager refuses a label that the cluster does not have' \
    wait_until 20 upstream_has '.node_labels.state' '"refused"'
like 'nmctl status has the reason of the ResourceManager' "$(nmctl status)" 'refused by the cluster'
like 'the log has the refused label and the reason' "$(<"$dir/nmd1.log")" \
    'the ResourceManager has refused the node label of this node \(unknown\): .*unknown'
is 'the ResourceManager keeps the former label' "$(labels_at_rm 1)" slow
echo 'NODE_PARTITION:-wrong' >"$shared/label"
check 'nmctl status says why an invalid label is not reported' \
    wait_until 20 trouble_has node_labels "the label '-wrong' must begin with"
echo 'other output' >"$shared/label"
check 'without a line of the script the label is removed' wait_until 20 labels_are 1 ''
check 'an empty set of labels is accepted' wait_until 20 upstream_has '.node_labels | [.labels, .state]' '[[],"accepted"]'
echo 'NODE_PARTITION:fast' >"$shared/label"
echo 'NODE_ATTRIBUTE:os,NUMBER,5' >"$shared/attributes"
check 'invalid attributes are not reported, and nmctl status says why' \
    wait_until 20 trouble_has node_attributes 'is not NAME,STRING,VALUE'
is 'the ResourceManager keeps the former attributes' "$(attributes_at_rm 1)" 'nm.yarn.io/disk=ssd nm.yarn.io/os=linux-6.1'
echo 'NODE_ATTRIBUTE:os,STRING,other' >"$shared/attributes"
check 'changed attributes reach the ResourceManager' wait_until 20 attributes_are 1 'nm.yarn.io/os=other'
check 'the label is fast again' wait_until 20 labels_are 1 fast

# ---- a node whose files have the label

need 'node 2 starts with a label in its yarn-site.xml' nmd_node_start 2 "$distributed=false" "$labels.provider=config" \
    "$labels.provider.configured-node-partition=slow" "$labels.provider.fetch-interval-ms=1000" "$attributes.provider=config" \
    "$attributes.provider.configured-node-attributes=a,STRING,1:b,STRING,2"
check 'node 2 is registered' wait_until 60 node_is 2 RUNNING
is 'the registration contains the label of yarn-site.xml' "$(labels_at_rm 2)" slow
check 'the ResourceManager has the attributes of yarn-site.xml' wait_until 20 attributes_are 2 'nm.yarn.io/a=1 nm.yarn.io/b=2'
sed -i 's|<value>slow</value>|<value>fast</value>|' "$shared/node2/conf/yarn-site.xml"
check 'a changed yarn-site.xml changes the label without a restart' wait_until 20 labels_are 2 fast
mv "$shared/node2/conf/yarn-site.xml" "$shared/node2/conf/yarn-site.old"
check 'a missing yarn-site.xml is logged' wait_until 20 grep -q 'no new node label: ' "$dir/nmd2.log"
is 'the label stays' "$(labels_at_rm 2)" fast
mkfifo "$shared/node2/conf/yarn-site.xml"
check 'a pipe in place of yarn-site.xml is not read' \
    wait_until 20 grep -q "no new node label: .*yarn-site.xml: can't read: it is not a regular file" "$dir/nmd2.log"
is 'the label stays' "$(labels_at_rm 2)" fast
mv "$shared/node2/conf/yarn-site.old" "$shared/node2/conf/yarn-site.xml"
sed -i 's|<value>fast</value>|<value></value>|' "$shared/node2/conf/yarn-site.xml"
check 'an empty value in yarn-site.xml removes the label' wait_until 20 labels_are 2 ''

# ---- jobs

shell_begin in-fast -shell_command 'true' -num_containers 2 -node_label_expression fast
shell_begin in-default -shell_command 'true' -num_containers 2
use_node 1
own=$shared/node1
ends_well in-fast
is 'the containers of a job that asks for the label run on the labelled node' "$(ids_of in-fast | wc -l)" 2
use_node 2
own=$shared/node2
ends_well in-default
is 'the containers of another job run on the node without a label' "$(ids_of in-default | wc -l)" 2
use_node 1

# The masters ask for guaranteed containers, of which all may be lent. They wait for some of them: the maps need more than the memory
# of two nodes.
lent_begin() { # N NAME QUEUE: pi whose master runs on the given node
    through=(-Dyarn.app.mapreduce.am.env=NMD_LEND=all "-Dmapreduce.job.queuename=$3")
    pi_begin_on "$1" "$2" 0 24
}
lends=("$distributed=true" nmd.lending=allowed)
need 'node 3 starts, which has a proxy and the label' nmd_node_start 3 "${lends[@]}" "$proxy.address=node03:8049" \
    "$labels.provider=config" "$labels.provider.configured-node-partition=fast"
need 'node 4 starts, which has a proxy' nmd_node_start 4 "${lends[@]}" "$proxy.address=node04:8049"
check 'node 3 is registered with its label' wait_until 60 labels_are 3 fast
check 'node 4 is registered' wait_until 60 node_is 4 RUNNING
held_for() { nmctl status | grep -qE "^ +not lent: .*[0-9]+ $1"; } # REASON: for wait_until
use_node 3
lent_begin 3 in-queue labelled
check 'nmctl status says that asks with a label are not lent' wait_until 90 held_for label
succeeds in-queue
is 'nothing is lent in the queue with a default label' "$(placed_by_node numbers in-queue)" ''
is 'no container runs on a node without the label' "$(numbers_on 2 in-queue)$(numbers_on 4 in-queue)" ''
# The machine of the tests may be too busy for opportunistic containers.
lends_or_has_no_room() { held_for no_room || [ -n "$(placed_by_node numbers elsewhere)" ]; } # for wait_until
use_node 4
lent_begin 4 elsewhere default
check 'asks in the other queue are lent, or would be on a node with room' wait_until 90 lends_or_has_no_room
check 'none of them is left because of a label' eval '! held_for label'
succeeds elsewhere
nmd_node_stop 3
nmd_node_stop 4
use_node 1

# ---- restarts

rm_kill
need 'the ResourceManager is started again' rm_again
check 'node 1 registers with its label after a restart of the ResourceManager' wait_until 60 labels_are 1 fast
nmd_node_stop 1
echo 'exit 1' >>"$shared/label.sh"
need 'node 1 starts again with a script that fails' nmd_node_start 1 "${scripts[@]}"
check 'node 1 is registered without a report of its label' wait_until 60 node_is 1 RUNNING
is 'nmctl status says that the label is not known, and why' "$(of_upstream '.node_labels | .labels, .state, .trouble')" \
    "null
\"unreported\"
\"the script $shared/label.sh exited with status 1\""

# ---- refused settings

refused() { # NAME=VALUE...
    node_files 3 7301 "$@"
    ! nmd_check 3
}
nmd_check() { "$NMD" --check-config --config "$nmd_conf" --yarn-conf "$shared/node$1/conf" >"$dir/check.log" 2>&1; } # N
check 'a provider written in Java is refused' refused "$labels.provider=org.example.Labels"
like 'the refusal names the property' "$(<"$dir/check.log")" "$labels.provider = 'org.example.Labels': must be config or script"
check 'a script that does not exist is refused' refused "$labels.provider=script" "$labels.provider.script.path=/nowhere/x"
like 'the refusal names the path' "$(<"$dir/check.log")" "$labels.provider.script.path = '/nowhere/x': No such file"
check 'an invalid configured label is refused' refused "$labels.provider=config" "$labels.provider.configured-node-partition=a b"
like 'the refusal names the file, the property and the value' "$(<"$dir/check.log")" \
    "/yarn-site.xml: $labels.provider.configured-node-partition = 'a b': the label 'a b' must begin"
done_testing
