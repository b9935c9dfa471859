# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # the ports are host-yarn.env's
#
# Makes the guest a node of the host's cluster (tests/vm/host-yarn), for suites with "# host: yarn": . "$NMD_VM_DATA/yarn.sh"
# shellcheck source=/dev/null
. "$NMD_VM_DATA/host-yarn.env"
host=10.0.2.2
local=/var/lib/hadoop-yarn/local logs=/var/log/hadoop-yarn/containers

nic=$(find /sys/class/net -mindepth 1 -not -name lo -printf '%f\n' | head -n 1)
ip link set "$nic" up
ip addr replace 10.0.2.15/24 dev "$nic"
light() { # PATH [KEY=VALUE...]: sends the request to the application master on the host, and prints its response
    local path=$1 args=()
    shift
    for pair in "$@"; do args+=(--data-urlencode "$pair"); done
    curl -sS --fail-with-body --max-time 60 --get "${args[@]}" "http://$host:$cluster_port/$path"
}

# Creates the cluster's file and directories. Another suite may have restored the directories' earlier owner.
yarn_site() { # MIB
    mkdir -p /etc/hadoop/conf $local $logs
    chown root: $local $logs
    {
        echo '<?xml version="1.0"?><configuration>'
        printf '  <property><name>%s</name><value>%s</value></property>\n' \
            yarn.resourcemanager.hostname $host \
            yarn.resourcemanager.resource-tracker.address "$host:$tracker_port" \
            yarn.nodemanager.hostname node01 yarn.nodemanager.address "node01:$node_port" \
            yarn.nodemanager.resource.memory-mb "$1" yarn.nodemanager.resource.cpu-vcores 4 \
            yarn.nodemanager.opportunistic-containers-max-queue-length 10 \
            yarn.nodemanager.opportunistic-containers-use-pause-for-preemption true \
            yarn.nodemanager.aux-services mapreduce_shuffle \
            yarn.nodemanager.recovery.enabled true yarn.nodemanager.recovery.supervised true \
            yarn.nodemanager.local-dirs $local yarn.nodemanager.log-dirs $logs \
            yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user alice
        echo '</configuration>'
    } >/etc/hadoop/conf/yarn-site.xml
}
# Permits nmd to use the network, as an administrator would do by hand. nmd --yarn-setup does the same (70-yarn).
let_through() {
    mkdir -p /etc/systemd/system/nmd.service.d
    printf '[Service]\nIPAddressAllow=any\n' >/etc/systemd/system/nmd.service.d/yarn.conf
    systemctl daemon-reload
}
at_exit 'rm -rf /etc/systemd/system/nmd.service.d /etc/nmd/nmd.conf.d/50-yarn.conf /etc/hadoop; systemctl daemon-reload'

rm_get() { curl -sf "http://$host:$web_port/ws/v1/cluster/$1"; }       # PATH
rm_node() { rm_get nodes | jq -r ".nodes.node[0] | $1"; }              # JQ-EXPRESSION
containers() { light containers "app=$1" | jq -r ".[] | $2"; }         # APP JQ-EXPRESSION
held() { containers "${1:-}" 'select(.node) | .id'; }                  # [APP]
ends() { containers "${2:-}" "select(.id == \"$1\") | .end // \"\""; } # ID [APP]
ended() { [ -n "$(ends "$@")" ]; }                                     # ID [APP]
one_more() { # KEY=VALUE...: requests one container, and prints its id; app=NAME must be the first argument
    local before now app=''
    [[ ${1:-} != app=* ]] || app=${1#app=}
    before=$(held "$app")
    light ask n=1 "$@" >/dev/null || return
    for ((i = 0; i < 200; i++)); do
        now=$(comm -13 <(sort <<<"$before") <(held "$app" | sort))
        [ -z "$now" ] || break
        sleep 0.2
    done
    echo "$now"
}
