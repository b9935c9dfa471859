#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 500
# beside: others
#
# nmd is killed with SIGKILL at each step of the life of YARN's containers and applications, and again before their results are
# acknowledged, and before their application ends. Nothing that the node knew is lost: containers and their queue, exit codes,
# applications, keys, used tokens, fetched files, the shuffle secret, files to be removed, and logs to be uploaded. The
# ResourceManager and the application master are a part of the test (kill-steps.py). A stop by SIGTERM ends the containers and
# unregisters the node, unless a supervisor starts nmd again. It ends them also while the ResourceManager is away.
#
#   NMD_STEPS="start-accepted:2,gate-open" runs only these steps
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'only root can start containers as other users'
grep -qs 'define NM_FAULT_INJECTION' "$NMD_TEST_BUILD/config.h" ||
    skip_all 'this build has no fault steps: configure --enable-fault-injection'

# STEP:N is the Nth time that nmd passes the step. Each story has four containers, whose starts are separate calls.
steps=(service-data-saved service-data-saved:3 submit-journalled submit-journalled:4 start-accepted start-accepted:3 start-saved
    start-saved:4 prepared-journalled round-before-commit round-after-commit cgroup-prepared shim-forked shim-started shim-journalled
    cgroup-created cgroup-journalled gate-open snapshot-written running-journalled before-term after-term term-journalled before-kill
    after-kill end-heard end-before-commit end-journalled:2 end-journalled:3 cgroup-removed
    acknowledged-before-commit acknowledged-journalled:2 application-end-heard application-ended application-dropped)
make_shared_dir
mkdir -m 1777 "$shared/files" "$shared/remote"
rm_configure --stock "${node_site[@]}" "yarn.nodemanager.local-dirs=$shared/local" "yarn.nodemanager.log-dirs=$shared/logs" \
    yarn.nodemanager.opportunistic-containers-max-queue-length=10 yarn.nodemanager.aux-services=mapreduce_shuffle \
    mapreduce.shuffle.port=0 yarn.nodemanager.recovery.enabled=true yarn.nodemanager.sleep-delay-before-sigkill.ms=50 \
    yarn.log-aggregation-enable=true "yarn.nodemanager.remote-app-log-dir=file://$shared/remote" \
    yarn.nodemanager.resource.cpu-vcores=8 yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100
cp -r "$conf" "$dir/supervised"
sed -i "s|</configuration>|$(property yarn.nodemanager.recovery.supervised true)&|" "$dir/supervised/yarn-site.xml"
cp -r "$conf" "$dir/away"
sed -i "s|127.0.0.1:${rm_ports[2]}|127.0.0.1:1|" "$dir/away/yarn-site.xml"
need "the host's memory can be simulated" node_proc_start 1000 8
nmd_configure <<END
[over-allocation]
enabled = no
END
mkdir -p "$dir/state" "$dir/run"
nmd=("$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" --slice "$slice"
    --backend direct --node-proc "$node_proc" --yarn-conf "$conf")
while IFS=$'\t' read -r name got wanted; do
    is "$name" "$got" "$wanted"
done < <(python3 "$(dirname "$0")/kill-steps.py" "${rm_ports[2]}" node07 "$node_port" "$shared/files" "$shared/local" \
    "$shared/remote" "$dir/state" "${NMD_STEPS:-$(IFS=,; echo "${steps[*]}")}" "$dir/supervised" "$dir/away" -- "${nmd[@]}" \
    2>"$dir/kill-steps.err")
is 'all stories have ended' "$(grep -A 20 Traceback "$dir/kill-steps.err")" ''
done_testing
