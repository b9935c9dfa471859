#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: all
#
# A ResourceManager and an application master that send forged, repeated and damaged messages: nmd accepts only valid messages.
# The cluster is the one of lib.sh, with only the local file system. The ResourceManager is a part of the test.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'only root can start containers as other users'
make_shared_dir
set_node_dirs
chmod 755 "$dir"
proxy_port=$(free_port)
rm_configure --stock "${node_site[@]}" "${node_dirs[@]}" \
    yarn.nodemanager.amrmproxy.enabled=true "yarn.nodemanager.amrmproxy.address=127.0.0.1:$proxy_port" \
    yarn.nodemanager.resource.cpu-vcores=16 yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100
need "the host's memory can be simulated" node_proc_start 4000 2
node_configure
need 'nmd starts' node_start
# At this time no ResourceManager has responded yet.
for port in "$node_port" "$proxy_port"; do
    listens() { (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
    check "nmd's port is open before a ResourceManager has responded" wait_until 10 listens
    is 'nmd refuses an empty SASL response at this port' \
        "$(cd "$(dirname "$0")" && python3 -B -c "import wire; print(wire.respond($port, wire.message(3, b'')))" 2>&1)" SaslException
done
is 'nmd is not connected to a ResourceManager yet' "$([ "$(upstream_of .state)" = running ] && echo running)" ''
submit here -m 10M -c 0.1 -- sleep 600
while IFS=$'\t' read -r name got wanted; do
    is "$name" "$got" "$wanted"
done < <(python3 "$(dirname "$0")/forged.py" "${rm_ports[2]}" node07 "$node_port" "$proxy_port" 2>"$dir/forged.err")
is 'the application master has sent all its requests' "$(cat "$dir/forged.err")" ''
check 'nmd responds after all invalid requests' nmctl status
is 'local containers keep running' "$(field_of here .state)" RUNNING
at_least "nmd's resident memory is below 48 MiB after all invalid requests" "$((48 << 20))" "$(status_of .node.own.rss_bytes)"
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
kill_all 2>/dev/null
done_testing
