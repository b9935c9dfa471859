# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the suites and their libraries
#
# The jobs of lending.table on the cluster of lent.sh, for suites that source this file: pi, Terasort, Tez, and PySpark in client mode,
# in cluster mode and with dynamic allocation. All of them run at the same time, beside a job with maps that wait (lent.sh). Their
# masters start together in one hole. NMD_TEST_HADOOP=VERSION is the version of the ResourceManager and of MapReduce.
#
#   lent_matrix    runs each job in its mode. With NMD_TEST_LENDING=all in the environment, each job in each mode.
jobs_of=(tez spark)
[ -z "${NMD_TEST_HADOOP:-}" ] || jobs_archive=1
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "${BASH_SOURCE[0]}")/lent.sh"
# shellcheck source=tests/yarn/lent-spark.sh
. "$(dirname "${BASH_SOURCE[0]}")/lent-spark.sh"

# A client waits for its job while all jobs run at the same time, and while nothing is lent.
job_deadline=600 spark_deadline=600
matrix_table=$(dirname "${BASH_SOURCE[0]}")/lending.table
matrix_version=${NMD_TEST_HADOOP:-3.4.2}
declare -A mode_of=() type_of=()
matrix_jobs=()
matrix_read() { # reads the column of this version
    local job type row
    while read -r job type row; do
        read -r mode_of["$job"] <<<"$(matrix_column "$row")"
        type_of[$job]=$type
        matrix_jobs+=("$job")
    done < <(grep -v '^#' "$matrix_table")
}
matrix_column() { # ROW
    local versions=(3.3.6 3.4.2 3.5.0) modes i
    read -r -a modes <<<"$1"
    for i in "${!versions[@]}"; do [ "${versions[i]}" != "$matrix_version" ] || echo "${modes[i]}"; done
}
# Each job has each mode with one of the versions. Jobs with rules are also tested with the mode off.
matrix_covers() { ! grep -v '^#' "$matrix_table" | awk '!(/overflow:/ && /percent:/ && /[ +]all/ && /wish[+]/) || NF != 5' | grep .; }
# All jobs have the mode: for NMD_TEST_LENDING=all.
matrix_set() { local job; for job in "${matrix_jobs[@]}"; do mode_of[$job]=$1; done; } # MODE

# ---- the jobs ------------------------------------------------------------------------------------

wish_of() { [[ ${mode_of[$1]} != wish+* ]] || echo "${mode_of[$1]#wish+}"; } # JOB
begin_mapred() { # JOB CLASS ARG...
    local wish
    wish=$(wish_of "$1")
    lent_submit "$1" "${wish:--}" "${@:2}"
}
matrix_pi() { begin_mapred pi org.apache.hadoop.examples.ExampleDriver pi 4 100; }
# A record has a key of 10 bytes and 90 further ones, as those of teragen.
matrix_terasort() {
    mkdir -p "$shared/work/records"
    [ -s "$shared/work/records/1" ] || python3 -c '
import random
random.seed(1)
for name in "12":
    with open(f"'"$shared"'/work/records/{name}", "w") as file:
        for n in range(20000):
            file.write("".join(random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=10)) + f"{n:090d}")
'
    rm -rf "$shared/work/sorted"
    begin_mapred terasort org.apache.hadoop.examples.ExampleDriver terasort -Dmapreduce.job.reduces=2 \
        -Dmapreduce.terasort.simplepartitioner=true -Dmapreduce.task.io.sort.mb=1 "file://$shared/work/records" \
        "file://$shared/work/sorted"
}
matrix_tez() {
    local wish options=("-Dyarn.resourcemanager.scheduler.address=$proxy_at" -Dtez.task.resource.memory.mb=512)
    wish=$(wish_of tez)
    [ -z "$wish" ] || options+=("-Dtez.am.launch.env=$rule=$wish")
    rm -rf "$shared/work/counted-tez"
    tez_begin tez "${options[@]}"
    aside tez
}
begin_spark() { # JOB OPTION... -- ARG...
    local job=$1 wish options=()
    shift
    wish=$(wish_of "$job")
    [ -z "$wish" ] || options=("spark.yarn.appMasterEnv.$rule=$wish")
    rm -rf "${shared:?}/work/$job"
    spark_begin "$job" "${options[@]}" "spark.hadoop.yarn.resourcemanager.scheduler.address=$proxy_at" "${spark_master[@]}" "$@"
}
matrix_client() { begin_spark client spark.submit.deployMode=client spark.executor.instances=2 --; }
matrix_cluster() {
    begin_spark cluster spark.submit.deployMode=cluster spark.executor.instances=2 spark.driver.memoryOverhead=128m --
}
matrix_dynamic() {
    begin_spark dynamic spark.submit.deployMode=client spark.dynamicAllocation.enabled=true \
        spark.dynamicAllocation.shuffleTracking.enabled=true spark.dynamicAllocation.shuffleTracking.timeout=2s \
        spark.dynamicAllocation.executorIdleTimeout=1s spark.dynamicAllocation.schedulerBacklogTimeout=1s \
        spark.dynamicAllocation.minExecutors=0 spark.dynamicAllocation.maxExecutors=3 -- elastic
}
matrix_hole=$((256 + 256 + 384 + 384 + 640 + 384)) # of these masters
matrix_id() { sed -nE 's/.*(application|job)_([0-9]{10,}_[0-9]+).*/\2/p' "$dir/$1.log" | head -n 1; } # JOB: of its application
matrix_has_id() { [ -n "$(matrix_id "$1")" ]; } # JOB: for wait_until

# ---- their results -------------------------------------------------------------------------------

# Terasort leaves part-r-00000 and so on, which together are the sorted records.
is_sorted() {
    cat "$shared/work/sorted"/part-r-* | fold -b -w 100 | LC_ALL=C cut -b 1-10 | LC_ALL=C sort -c
}
record_sum() { cat "$@" | fold -b -w 100 | LC_ALL=C sort | md5sum; }
right_pi() { succeeds pi; like 'pi prints its result' "$(counters pi)" '^Estimated value of Pi is 3\.'; }
right_terasort() {
    succeeds terasort
    check 'the records of Terasort are sorted' is_sorted
    is 'Terasort has all records' "$(record_sum "$shared/work/sorted"/part-r-*)" "$(record_sum "$shared/work/records"/*)"
}
right_tez() {
    succeeds tez
    tez_is_right tez
}
right_client() { ended_well client "$spark_words"; }
right_cluster() { ended_well cluster "$spark_words"; }
right_dynamic() { ended_well dynamic "$spark_words
the same again True"; }
job_has_ended() { ! kill -0 "${begun[$1]}" 2>/dev/null; } # JOB: for wait_until

# ---- one round of all jobs -----------------------------------------------------------------------

was_lent='(.id | test("_10995[0-9]*$"))' # with distributed scheduling, nodes number what they place, also if it is promoted later
masters_run() { # N: for wait_until
    [ "$(rm_get 'apps?states=RUNNING' | jq '[.apps.app[]? | select(.applicationType != "SERVICE")] | length')" -ge "$1" ]
}
are_accepted() { # N: for wait_until
    [ "$(rm_get 'apps?states=ACCEPTED' | jq '[.apps.app[]? | select(.applicationType != "SERVICE")] | length')" -ge "$1" ]
}
matrix_submit() { # [FUNCTION...]: submits further jobs as well
    local job
    for job in "${matrix_jobs[@]}"; do "matrix_$job"; done
    for job; do "$job"; done
    need 'all jobs are submitted' wait_until 150 are_accepted $((${#matrix_jobs[@]} + $#))
    free_hole matrix
    need 'the masters of all jobs run' wait_until 150 masters_run $((${#matrix_jobs[@]} + $#))
    for job in "${matrix_jobs[@]}"; do need "$job has an id" wait_until 30 matrix_has_id "$job"; done
}
waits_for_some() { [ "$(pending_of "$1")" -ge 1 ]; } # ID: for wait_until
# Nothing is lent to jobs without a rule, while the memory of all nodes is allocated.
matrix_off() { # JOB...
    local job
    for job; do check "$job waits for containers" wait_until 90 waits_for_some "$(matrix_id "$job")"; done
    sleep 3 # longer than overflow:2 and the heartbeats of all masters
    for job; do is "$job: nothing is lent without a rule" "$(count_of "$(matrix_id "$job")" .)" 0; done
}
# Kills nmd, and starts it with a rule for the types of these jobs.
matrix_rules() { # JOB...
    local job rules=()
    for job; do rules+=("nmd.lending.type.${type_of[$job]}=${mode_of[$job]}"); done
    end_process "${nmd_nodes[1]}" KILL
    need 'nmd is killed, and starts again with the rules' lent_join 1 "${rules[@]}"
    use_node 1
    check 'nmd is connected to the ResourceManager after the kill' wait_until 30 status_is .upstream.state running
}
with_mode() { # PATTERN: prints the jobs whose mode matches it
    local job
    for job in "${matrix_jobs[@]}"; do
        # shellcheck disable=SC2053 # a pattern
        [[ ${mode_of[$job]} != $1 ]] || echo "$job"
    done
}
matrix_lent() { # JOB...: at least one container of each job is lent
    local job
    for job; do check "$job: containers are lent (${mode_of[$job]})" wait_until 120 counts_more "$(matrix_id "$job")" "$was_lent" 1; done
}
# Checks the results of jobs that end while all memory is allocated.
matrix_full() {
    local job jobs
    mapfile -t jobs < <(with_mode '@(wish+*|overflow:*|all)')
    for job in "${jobs[@]}"; do check "$job ends while the services run" wait_until 240 job_has_ended "$job"; done
    for job in "${jobs[@]}"; do "right_$job"; done
}
matrix_rest() { # those that need guaranteed room
    local job jobs
    mapfile -t jobs < <(with_mode '@(percent:*|off)')
    for job in "${jobs[@]}"; do "right_$job"; done
}

# ---- all -----------------------------------------------------------------------------------------

matrix_held() { begin_by=lent_submit held_lent held all 3; }
# One round with the held job: nmd's death, a surge, and promotion.
matrix_round() {
    local ruled lost
    matrix_submit matrix_held
    held=$(job_id held)
    check 'three maps that wait run as lent containers' wait_until 90 counts "$held" "$lent_now" 3
    mapfile -t ruled < <(with_mode '!(wish+*)')
    matrix_off "${ruled[@]}"
    matrix_rules "${ruled[@]}"
    is 'the maps run through the restart of nmd' "$(count_of "$held" "$lent_now")" 3
    matrix_lent "${matrix_jobs[@]}"
    matrix_full
    lent_surge "$held" 3
    lent_promote_first "$held" $((3 - lost))
    matrix_rest
    lent_promoted
    lent_held_ends "$held" "$lost"
}
# A further round, for NMD_TEST_LENDING=all: all jobs have the same mode.
matrix_further() { # MODE
    local job ruled=()
    matrix_set "$1"
    need "services fill the nodes again ($1)" refill matrix "$matrix_hole"
    nmd_node_stop 1
    need 'the first node leaves' wait_until 30 node_is 1 SHUTDOWN
    need 'the first node joins without rules' lent_join 1
    matrix_submit
    [[ $1 = wish+* ]] || mapfile -t ruled < <(printf '%s\n' "${matrix_jobs[@]}")
    matrix_off "${ruled[@]}"
    if [ "$1" != off ]; then
        [ "${#ruled[@]}" = 0 ] || matrix_rules "${ruled[@]}"
        matrix_lent "${matrix_jobs[@]}"
        matrix_full
    fi
    service_end one
    service_end two
    matrix_rest
    [ "$1" != off ] ||
        for job in "${matrix_jobs[@]}"; do is "$job: nothing was lent" "$(count_of "$(matrix_id "$job")" "$was_lent")" 0; done
}
lent_matrix() {
    local mode
    matrix_read
    check 'lending.table has each mode for each job' matrix_covers
    [ "${#mode_of[@]}" = 6 ] || not_ok "lending.table has the jobs of version $matrix_version"
    lent_cluster matrix $((matrix_hole + 256))
    need 'Tez is available' tez_install
    tez_configure
    need 'Spark is available' spark_install
    spark_input
    matrix_round
    if [ "${NMD_TEST_LENDING:-}" = all ]; then
        for mode in off wish+all overflow:2 percent:50 all; do matrix_further "$mode"; done
    fi
    lent_end
}
