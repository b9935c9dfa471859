#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# Hours with all kinds of jobs and faults, or five minutes of them: random real jobs on three nodes of a build with sanitizers, while
# random parts of the cluster fail one after the other. Meanwhile soak.py asks the nodes and the ResourceManager whether an invariant is
# broken, and samples what could leak. Each job must end as intended, unless a fault explains its failure. There are points without
# jobs and faults, of which the first and the last are compared. In the end a report is printed.
#
# tests/yarn/soak runs this suite for a given time. NMD_SOAK_MINUTES is the time (5), NMD_SOAK_SEED the seed of the order of jobs
# and faults (random), NMD_SOAK_PROGRESS a file for lines of progress. The nmd is that of build/asan, if it exists beside the build.
jobs_of=(spark tez)
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"
# shellcheck source=tests/yarn/lent-spark.sh
. "$(dirname "$0")/lent-spark.sh"
# shellcheck source=tests/yarn/faults.sh
. "$(dirname "$0")/faults.sh"
# shellcheck source=tests/yarn/soak-jobs.sh
. "$(dirname "$0")/soak-jobs.sh"
# shellcheck source=tests/yarn/soak-faults.sh
. "$(dirname "$0")/soak-faults.sh"

minutes=${NMD_SOAK_MINUTES:-5}
seed=${NMD_SOAK_SEED:-$((RANDOM * 32768 + RANDOM))}
soak_py=$(dirname "$0")/soak.py
soak_dir=$dir/soak
breaches=$soak_dir/breaches # of invariants that the suite itself asks: lines INVARIANT, tab, what was found
at_once=3                  # jobs
journals=0 stops=0         # how often these invariants were asked
mkdir -p "$soak_dir"
: >"$breaches"
say() { [ -z "${NMD_SOAK_PROGRESS:-}" ] || echo "$*" >>"$NMD_SOAK_PROGRESS"; }
soak_breach() { # INVARIANT WHAT
    printf '%s\t%d s: %s\n' "$1" "$SECONDS" "$2" >>"$breaches"
    say "BROKEN: $1: $2"
}

sanitizer_build=$NMD_TEST_BUILD/../asan
if ! sanitized && [ -x "$sanitizer_build/nmd/nmd" ]; then
    sanitizer_build=$(cd "$sanitizer_build" && pwd)
    NMD=$sanitizer_build/nmd/nmd # nmctl is the one without sanitizers
fi
# Freed memory is kept for a short while only, and little of it in each thread (nm-shuffle has many), so that the RSS shows what has
# not been freed.
# Still, the allocator of the sanitizer keeps some memory for each size of piece and each thread that there was, so the RSS of nm-shuffle
# grows for hours. No fault restarts the third node. It has an nm-shuffle without sanitizers, which shows what the program keeps.
third_nmd=$NMD
third_programs() {
    local name
    mkdir -m 755 "$dir/third" || return
    for name in nmd nm-shim nm-localizer nm-log-uploader nm-spark-shuffle; do cp -L "${NMD%/*}/$name" "$dir/third/" || return; done
    cp -L "$NMD_TEST_BUILD/nmd/nm-shuffle" "$dir/third/" && third_nmd=$dir/third/nmd
}
ASAN_OPTIONS+=:quarantine_size_mb=2:thread_local_quarantine_size_kb=16:malloc_context_size=12

# ---- the cluster ------------------------------------------------------------------------------------------------

heartbeat_ms=200
scheduler_address=yarn.resourcemanager.scheduler.address
node_mb=4096
# All nodes have their own networks, between which this one forwards packets.
soak_network() {
    local n
    echo 1 >/proc/sys/net/ipv4/ip_forward || return
    for n in 1 2 3; do net_of "$n" || return; done
}
soak_configure() {
    # Masters use the proxy of their node, by a variable that only containers have. The ResourceManager has the same port.
    net_configure "$distributed=true" "$scheduler_address=\${env.NM_HOST:-rmhost}:8049" nmd.lending=allowed "${rm_remembers[@]}" \
        yarn.nm.liveness-monitor.expiry-interval-ms=8000 yarn.am.liveness-monitor.expiry-interval-ms=120000 \
        "yarn.resourcemanager.am.max-attempts=$master_attempts" \
        yarn.resourcemanager.connect.max-wait.ms=120000 yarn.resourcemanager.connect.retry-interval.ms=200 \
        yarn.log-aggregation.enable-local-cleanup=true yarn.nodemanager.localizer.cache.target-size-mb=0 \
        "yarn.application.classpath=$conf,$shared/lib/*" yarn.nodemanager.env-whitelist=JAVA_HOME,PATH,JAVA_TOOL_OPTIONS \
        yarn.nodemanager.disk-health-checker.interval-ms=2000 \
        yarn.resourcemanager.decommissioning-nodes-watcher.poll-interval-secs=2 || return
    nmd_configure <<-'EOF'
	[sampling]
	period = 250ms
	history = 1min
	[over-allocation]
	warmup = 1s
	[containers]
	keep-ended = 10s
	EOF
}
soak_join() { soak_disks "$1" && soak_health_script "$1" && soak_node_start "$1" && wait_until 60 node_is "$1" RUNNING; } # N
soak_watch() {
    local n root
    root=$(nmd_cgroup_root)
    for n in 1 2 3; do
        jq -n --arg n "$n" --arg socket "$dir/nmd$n/nmd.sock" --arg state "$dir/nmd$n/state" --arg slice "$root/nmdtest${$}n$n.slice" \
            --arg local "$shared/node$n/local" --arg logs "$shared/node$n/logs" \
            '{($n): {socket: $socket, state: $state, slice: $slice, local: $local, logs: $logs}}'
    done | jq -s --arg dir "$soak_dir" --arg rm "$rm_web" --arg suite "$dir" --arg shared "$shared" \
        '{dir: $dir, rm: $rm, suite: $suite, shared: $shared, nodes: add}' >"$soak_dir/watch.json"
    echo run >"$soak_dir/phase"
    /usr/bin/python3 "$soak_py" watch "$soak_dir/watch.json" 2>"$soak_dir/watch.err" &
    watch_pid=$!
    at_exit "end_process $watch_pid"
    wait_until 30 test -s "$soak_dir/checks"
}

[ "$(id -u)" = 0 ] || skip_all 'only root can start containers as other users'
diag "seed $seed, $minutes minutes, nmd is $NMD"
say "seed $seed"
need 'a cluster can be configured' soak_configure
need 'each node has its own network' soak_network
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
need 'the third node has its own programs' third_programs
for n in 1 2 3; do need "node $n of nmd joins" soak_join "$n"; done
need 'Tez is available' tez_install
tez_configure
need 'Spark is available' spark_install
spark_input
tez_input
need 'the invariants are watched' soak_watch

# ---- jobs ---------------------------------------------------------------------------------------------------------

mapfile -t planned_jobs < <(/usr/bin/python3 "$soak_py" plan "$seed" | sed -n 's/^job //p')
mapfile -t planned_faults < <(/usr/bin/python3 "$soak_py" plan "$seed" | sed -n 's/^fault //p')
next_job=0 job_count=0
declare -A kind_of=() client_of=() began_at=() kill_after=() status_of_client=() met=() judged_by=() tally=()
active=()
soak_clients_end() { local name; for name in "${!client_of[@]}"; do end_process "${client_of[$name]}"; done; }
at_exit soak_clients_end
soak_job() { # starts the next job of the plan
    local kind seconds name
    read -r kind seconds <<<"${planned_jobs[$next_job]}"
    next_job=$((next_job + 1))
    name=$kind$next_job
    job_pid=''
    # without a client, no job can be submitted while the ResourceManager is away
    "soak_${kind}_begin" "$name" >>"$dir/begin.log" 2>&1 || return
    kind_of[$name]=$kind client_of[$name]=$job_pid began_at[$name]=$SECONDS met[$name]=${fault_name:-}
    [ "${wanted_end[$kind]}" != KILLED ] || kill_after[$name]=$seconds
    job_pid=''
    active+=("$name") job_count=$((job_count + 1))
    say "$(soak_clock) begins $name"
}
soak_clock() { progress_took $((SECONDS - begun_at)); }
# Returns whether the job has succeeded, but its client has asked only after the last master had ended. There is no history server.
soak_unseen() { # NAME
    grep -q 'Redirecting to job history server' "$dir/$1.log" && [[ $(soak_end "$(soak_app "$1")") = 'SUCCEEDED '* ]]
}
soak_has_function() { declare -F "soak_$1" >/dev/null; }

# Looks at a job, and returns 0 if it is over.
soak_look() { # NAME
    local name=$1 kind=${kind_of[$1]} status=0
    if [ -n "${kill_after[$name]:-}" ] && [ $((SECONDS - began_at[$name])) -ge "${kill_after[$name]}" ]; then
        ! app_kill "$(soak_app "$name")" 2>>"$dir/begin.log" || kill_after[$name]=''
    fi
    if [ -n "${client_of[$name]}" ]; then
        ! kill -0 "${client_of[$name]}" 2>/dev/null || return 1
        wait "${client_of[$name]}" || status=$?
        client_of[$name]='' status_of_client[$name]=$status judged_by[$name]=$((SECONDS + 60))
        [ "${judged_by[$name]}" -ge $((began_at[$name] + job_deadline)) ] || judged_by[$name]=$((began_at[$name] + job_deadline))
        [ "$status" = 0 ] || ! soak_unseen "$name" || status=0
        if [ "$status" = 0 ] && soak_has_function "${kind}_next"; then
            if "soak_${kind}_next" "$name"; then
                client_of[$name]=$job_pid job_pid=''
                return 1
            fi
        fi
    fi
    soak_judge "$name"
}

# Judges a job whose client has ended, or which has none. Returns 1 if its application goes on.
soak_judge() { # NAME
    local name=$1 kind=${kind_of[$1]} app end attempts wanted=${wanted_end[${kind_of[$1]}]} result verdict status=${status_of_client[$1]:-}
    app=$(soak_app "$name")
    if [ -n "$app" ]; then
        read -r end attempts < <(soak_end "$app") || return 1 # no ResourceManager
        if [ "$end" = - ]; then
            # a client that has ended, of an application that goes on, or an application that does not end
            [ "$SECONDS" -ge "${judged_by[$name]:-$((began_at[$name] + job_deadline))}" ] || return 1
            end=UNFINISHED
            app_kill "$app"
        fi
    else
        end=UNSUBMITTED attempts=0
    fi
    verdict=$end
    if [ "$end" = "$wanted" ] && [ "$end" = SUCCEEDED ] && soak_has_function "${kind}_result"; then
        result=$("soak_${kind}_result" "$name" 2>/dev/null)
        if [ "$result" = "${wanted_result[$kind]}" ]; then
            verdict='SUCCEEDED'
        elif [ -z "$result" ] && grep -q 'Redirecting to job history server' "$dir/$name.log"; then
            verdict='SUCCEEDED, unseen by its client'
        else
            verdict="SUCCEEDED with a wrong result"
            diag "the result of $name: $result"
        fi
    fi
    soak_verdict "$name" "$verdict" "$wanted" "$attempts" "${status:+, client $status}"
    ! soak_has_function "${kind}_remove" || "soak_${kind}_remove" "$name"
}
# Returns whether a fault explains the end of a job.
soak_explains() { # FAULT[@NODE] NAME END
    [ -z "${fault_explains[${1%@*}]:-}" ] || return 0
    [ "$3" = FAILED ] && [ -n "${has_one_attempt[${kind_of[$2]}]:-}" ] && [ -n "${fault_loses[${1%@*}]:-}" ] &&
        [ "${1#*@}" = "$(soak_master_node "$(soak_app "$2")")" ]
}
soak_verdict() { # NAME VERDICT WANTED ATTEMPTS CLIENT
    local name=$1 kind=${kind_of[$1]} column=as-intended why='' word
    if [ "${2%%,*}" != "$3" ]; then
        column=unexplained
        for word in ${met[$name]}; do
            ! soak_explains "$word" "$name" "$2" || { column=explained why=" because of $word"; break; }
        done
        job_trouble "$name"
        [ "$column" = explained ] || soak_breach jobs "$name: $2 instead of $3${met[$name]:+; it met ${met[$name]}}"
    fi
    tally[$kind $column]=$((${tally[$kind $column]:-0} + 1))
    saw "$name" "$2$why after $((SECONDS - began_at[$name])) s$5; masters: $4${met[$name]:+; met ${met[$name]}}"
    say "$(soak_clock) $name: $2$why"
}
soak_look_at_all() {
    local name left=()
    for name in "${active[@]}"; do soak_look "$name" || left+=("$name"); done
    active=("${left[@]}")
}

# ---- faults -----------------------------------------------------------------------------------------------------

next_fault=0 fault_name='' fault_state='' fault_at=0 fault_count=0
declare -A fault_tally=()
soak_all_well() {
    local n
    rm_answers || return
    for n in 1 2 3; do node_is "$n" RUNNING || return; done
    for n in 1 2 3; do
        use_node "$n"
        status_is '"\(.upstream.state) \(.upstream.unhealthy)"' 'running null' || return
    done
}
# Takes one step: breaks what is next in the plan, heals it, or finds that the cluster is well again.
soak_fault() { # [heal]: begins no new fault
    local hit name
    soak_broken_for=$((SECONDS - fault_at))
    case $fault_state in
        '')
            [ "${1:-}" != heal ] && [ "$SECONDS" -ge "$fault_due" ] || return 0
            read -r fault_kind fault_node fault_seconds fault_pause <<<"${planned_faults[$next_fault]}"
            next_fault=$((next_fault + 1))
            hit=${fault_hits[$fault_kind]-$fault_node}
            fault_name=$fault_kind fault_at=$SECONDS
            [ "$hit" != "$fault_node" ] || fault_name+=@node0$fault_node
            echo "$hit" >"$soak_dir/excused"
            for name in "${active[@]}"; do met[$name]+="${met[$name]:+ }$fault_name"; done
            say "$(soak_clock) breaks: $fault_name"
            "soak_${fault_kind}_break" "$fault_node" "$fault_seconds"
            fault_tally[$fault_kind]=$((${fault_tally[$fault_kind]:-0} + 1)) fault_count=$((fault_count + 1))
            fault_state=broken
            ;;
        broken)
            if soak_has_function "${fault_kind}_over"; then
                "soak_${fault_kind}_over" "$fault_node" "$fault_seconds" || return 0
            else
                [ "$soak_broken_for" -ge "$fault_seconds" ] || return 0
            fi
            "soak_${fault_kind}_heal" "$fault_node"
            fault_state=healed fault_at=$SECONDS
            ;;
        healed)
            if soak_all_well; then
                : >"$soak_dir/excused"
                fault_name='' fault_state='' fault_due=$((SECONDS + fault_pause))
            elif [ "$soak_broken_for" -ge 120 ]; then
                soak_breach recovery "the cluster has not recovered from $fault_name"
                diag "$(soak_node_states)"
                fault_at=$((SECONDS + 100000)) # once
            fi
            ;;
    esac
}

# ---- points without jobs ------------------------------------------------------------------------------------------

soak_quiet() { # nothing is left on the nodes
    local n
    [ "$(rm_get metrics | jq .clusterMetrics.allocatedMB)" = 0 ] || return
    for n in 1 2 3; do
        use_node "$n"
        status_is '.containers | .guaranteed_running + .opportunistic_running + .paused + .preparing + .queued + .completed' 0 || return
        status_is '.upstream.logs | .running + .waiting + .failing' 0 || return
    done
    nothing_left
}
soak_sampled() { [ "$(grep -c "\"phase\": \[\"settled\", \"$1\"\]" "$soak_dir/samples")" -ge 24 ]; } # POINT: eight times per node
points=0
soak_settle() {
    local until=$((SECONDS + job_deadline + 120))
    while [ "${#active[@]}" -gt 0 ] || [ -n "$fault_state" ]; do
        soak_look_at_all
        soak_fault heal
        sleep 0.3
        if [ "$SECONDS" -ge "$until" ]; then
            soak_breach recovery "these do not end: ${active[*]} $fault_name"
            break
        fi
    done
    points=$((points + 1))
    say "$(soak_clock) waits for point $points without jobs"
    # ended containers are listed for a while
    wait_until 120 soak_quiet || soak_breach settles "$(soak_quiet_not)"
    echo "settled $points" >"$soak_dir/phase"
    wait_until 60 soak_sampled "$points" || soak_breach settles 'no samples are taken'
    echo run >"$soak_dir/phase"
    fault_due=$((SECONDS + 5))
}
soak_quiet_not() { # what is left
    local n
    for n in 1 2 3; do
        use_node "$n"
        status_of '"node '"$n"': \(.containers), logs: \(.upstream.logs | [.running, .waiting, .failing])"'
    done
    find "$shared"/node?/local -path '*appcache/*' | head -n 5
}

# The samples of a minute are kept, so the first point is not before that.
begun_at=$SECONDS
length=$((minutes * 60))
first=$((length / 10 < 75 ? 75 : length / 10))
every=$((length / (1 + minutes / 8))) # a short run only has the first and the last point
settle_at=$((begun_at + first))
fault_due=$((begun_at + 5))
# the last jobs need time to end
while [ $((SECONDS - begun_at)) -lt $((length - 40)) ]; do
    soak_look_at_all
    soak_fault
    if [ "$SECONDS" -ge "$settle_at" ]; then
        soak_settle
        settle_at=$((settle_at + every))
    elif [ "${#active[@]}" -lt "$at_once" ] && [ "$fault_state" != broken ] || [ "${#active[@]}" -lt 2 ]; then
        soak_job
    fi
    sleep 0.3
done
soak_settle
echo over >"$soak_dir/phase"
check 'the watch has run until the end' kill -0 "$watch_pid" || diag "$(cat "$soak_dir/watch.err")"
end_process "$watch_pid"
for n in 1 2 3; do soak_nmd_end "$n"; done
! ls "$dir"/asan* "$dir"/ubsan* >/dev/null 2>&1 || soak_breach sanitizers "$(head -qn 30 "$dir"/asan* "$dir"/ubsan*)"

# ---- the report ----------------------------------------------------------------------------------------------------

soak_table() { # KIND... of jobs
    local kind
    printf '%-14s %12s %12s %12s\n' job 'as intended' explained unexplained
    for kind; do
        printf '%-14s %12d %12d %12d\n' "$kind" "${tally[$kind as-intended]:-0}" "${tally[$kind explained]:-0}" \
            "${tally[$kind unexplained]:-0}"
    done
}
soak_leaks() {
    printf '%-44s %10s %10s %10s\n' 'without jobs' first last allowed
    awk -F '\t' '{ printf "%-44s %10s %10s %10s%s\n", $1, $3, $4, $5, $2 == "flat" ? "" : "  " $2 }' "$soak_dir/leaks"
}
asked() { awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$soak_dir/checks"; }                         # INVARIANT: how often
found() { cat "$breaches" "$soak_dir/broken" 2>/dev/null | awk -F '\t' -v name="$1" '$1 == name { print $2 }'; } # INVARIANT
holds() { # INVARIANT WORDS [TIMES]
    local times=${3:-$(asked "$1")}
    is "$2 (asked ${times:-0} times)" "$([ "${times:-0}" -gt 0 ] || echo 'never asked')$(found "$1" | head -n 10)" ''
}
mapfile -t kinds < <(printf '%s\n' "${!wanted_end[@]}" | sort)
diag "seed $seed" "$(soak_table "${kinds[@]}")"
faults_table
diag "$(for name in "${!fault_tally[@]}"; do echo "$name: ${fault_tally[$name]}"; done | sort | paste -sd ',' | sed 's/,/, /g')"

is 'every job has ended as intended, or a fault explains its end' "$(found jobs)" ''
at_least 'jobs were run' "$job_count" "$((minutes * 2))"
at_least 'faults were injected' "$fault_count" "$minutes"
is 'the cluster has recovered from each fault' "$(found recovery; found restart)" ''
is 'no container, log or local file was left when no job ran' "$(found settles)" ''
holds answers 'nmd and the ResourceManager have answered unless they had a fault'
holds allocated 'no more memory was allocated than the nodes have'
holds known 'each container that runs for the ResourceManager was known to its node'
holds orphans 'no container has outlived its application'
holds processes 'no process of a container has outlived it in its cgroup'
holds left 'no process of a container has left its cgroup and outlived it'
holds guaranteed 'no guaranteed container was ended because of an overload'
holds zombies 'nmd has collected all its children'
holds sanitizers 'the sanitizers report no error'
holds stop 'nmd ends with status 0 when it is stopped' "$stops"
[ "$journals" = 0 ] || holds journal 'the journal of a killed nmd is sound' "$journals"
/usr/bin/python3 "$soak_py" leaks "$soak_dir/samples" >"$soak_dir/leaks" 2>&1
diag "$(soak_leaks)"
is 'nothing has grown between the first and the last point without jobs' \
    "$(awk -F '\t' '$2 != "flat" && $2 != "restarted"' "$soak_dir/leaks")" ''
at_least 'most figures could be compared' "$(awk -F '\t' '$2 == "flat" || $2 == "grows"' "$soak_dir/leaks" | wc -l)" 20
[ -z "${NMD_SOAK_KEEP:-}" ] || { mkdir -p "$NMD_SOAK_KEEP" && cp -r "$soak_dir" "$dir"/*.log "$NMD_SOAK_KEEP"; }
done_testing
