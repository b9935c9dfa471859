#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# A ResourceManager and a master that send forged, repeated and damaged messages: nmd accepts only valid ones.
# The cluster is the one of lib.sh, with a ResourceManager that is a part of the test, and only with the local file system.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'containers of others are started by root only'
open_place
node_dirs_in_place
chmod 755 "$dir"
proxy_port=$(free_port)
rm_configure --stock "${node_site[@]}" "${node_dirs[@]}" \
    yarn.nodemanager.amrmproxy.enabled=true "yarn.nodemanager.amrmproxy.address=127.0.0.1:$proxy_port" \
    yarn.nodemanager.resource.cpu-vcores=16 yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100
need "the host's memory can be simulated" node_proc_start 4000 2
node_configure
need 'nmd starts' node_start
# At this time no ResourceManager has answered yet.
for port in "$node_port" "$proxy_port"; do
    listens() { (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
    check 'a port is open before a ResourceManager answers' wait_until 10 listens
    is 'an empty response is refused at that port' \
        "$(cd "$(dirname "$0")" && python3 -B -c "import wire; print(wire.respond($port, wire.message(3, b'')))" 2>&1)" SaslException
done
is 'the node is in no cluster' "$([ "$(upstream_of .state)" = running ] && echo running)" ''
submit here -m 10M -c 0.1 -- sleep 600
while IFS=$'\t' read -r name got wanted; do
    is "$name" "$got" "$wanted"
done < <(python3 "$(dirname "$0")/forged.py" "${rm_ports[2]}" node07 "$node_port" "$proxy_port" 2>"$dir/forged.err")
is 'the master has sent all requests' "$(cat "$dir/forged.err")" ''
check 'nmd answers' nmctl status
is 'local containers keep running' "$(field_of here .state)" RUNNING
at_least 'nmd is smaller than 48 MiB' "$((48 << 20))" "$(status_of .node.own.rss_bytes)"
nmd_stop
is 'nmd ends with status 0' "$?" 0
kill_all 2>/dev/null
done_testing
