#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# Remote monitoring: promtool and a real Prometheus read /metrics, the queries of the Grafana dashboard are run, and the TCP
# address is checked. Any client can reach this address, so it must be read-only and without private data.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

port=$(free_port)
prometheus_port=$(free_port)
node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
pause = yes
[interface]
http-address = 127.0.0.1:$port
END
nmd_start || exit 1
tcp() { curl -sS --max-time 20 "http://127.0.0.1:$port$1" "${@:2}"; }

# ---- something to see: one paused and resumed, one killed, one that waits

hog g1 -m 400M -c 0.5 -- 40
hog o1 --opportunistic -m 200M -c 0.5 --env HIDDEN=secret-value -- 40 --spin
wait_until 20 burns o1 100 || exit 1
wait_until 10 settled o1
node_cpu 1950
wait_until 20 in_state o1 PAUSED
node_cpu 0
wait_until 20 in_state o1 RUNNING
node_memory 980
wait_until 20 in_state o1 COMPLETED
submit o2 --opportunistic -m 100M -c 0.1 --env HIDDEN=secret-value -- sleep secret-argument
is "the node has one resumed, one killed and one waiting container" \
    "$(status_of '"\(.preemptions.paused) \(.preemptions.resumed) \(.preemptions.killed) \(.queue.length)"')" "1 1 1 1"

# ---- a real Prometheus

tcp /metrics >"$dir/metrics"
is "promtool check metrics reports no problem" "$(promtool check metrics <"$dir/metrics" 2>&1)" ""
is "the socket and TCP serve the same metrics" \
    "$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics | sed -n 's/^# TYPE //p')" \
    "$(sed -n 's/^# TYPE //p' "$dir/metrics")"
like "/metrics has the content type of the Prometheus format" "$(tcp /metrics -o /dev/null -w '%{content_type}')" \
    '^text/plain; version=0\.0\.4'

cat >"$dir/prometheus.yml" <<END
scrape_configs:
  - job_name: nmd
    scrape_interval: 500ms
    scrape_timeout: 500ms
    static_configs: [{targets: ["127.0.0.1:$port"]}]
END
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" \
    --web.listen-address="127.0.0.1:$prometheus_port" >"$dir/prometheus.log" 2>&1 &
prometheus_pid=$!
end_prometheus() { kill "$prometheus_pid" && wait "$prometheus_pid"; }
at_exit end_prometheus
query() { # PROMQL: prints the value of the only series in the result
    curl -sS --max-time 20 "http://127.0.0.1:$prometheus_port/api/v1/query" \
        --data-urlencode "query=$1" |
        jq -r '.data.result | if length == 1 then .[0].value[1] else "\(length) series" end'
}
says() { [ "$(query "$1")" = "$2" ]; }
check "a real Prometheus scrapes nmd" wait_until 30 says 'up{job="nmd"}' 1 ||
    diag "$(tail -n 5 "$dir/prometheus.log")"
while read -r expr value; do
    check "Prometheus has the right value of $expr" wait_until 10 says "$expr" "$value"
done <<END
nm_capacity_memory_bytes $((1000 << 20))
nm_capacity_cpu_cores 2
nm_allocated_memory_bytes{execution_type="guaranteed"} $((400 << 20))
nm_allocated_vcores{execution_type="guaranteed"} 0.5
nm_containers_running{execution_type="guaranteed"} 1
nm_containers_running{execution_type="opportunistic"} 0
nm_queue_length 1
nm_submissions_total 3
nm_pauses_total{reason="cpu-over-beta"} 1
sum(nm_pauses_total) 1
nm_resumes_total{reason="below-threshold"} 1
nm_kills_total{reason="memory-over-beta"} 1
nm_kills_total{reason="pause-deadline"} 0
nm_refusals_total{reason="queue-full"} 0
sum(nm_kills_total) 1
nm_reaction_seconds_count{action="pause"} 1
nm_reaction_seconds_bucket{action="kill",le="+Inf"} 1
nm_node_state{state="running"} 1
nm_preemption_threshold_ratio{resource="memory"} $(status_of .node.preemption_threshold.memory)
nm_over_allocation_threshold_ratio{resource="cpu"} $(status_of .node.over_allocation_threshold.cpu)
END
g1_memory="nm_used_memory_bytes{execution_type=\"guaranteed\"} >= bool $((40 << 20))"
check "Prometheus has the memory use of the container g1" wait_until 10 says "$g1_memory" 1
is "Prometheus has the CPU time that the killed container lost" "$(query 'nm_wasted_cpu_seconds_total > bool 0')" 1
is "Prometheus has the memory of nmd itself" "$(query 'nm_process_resident_memory_bytes > bool 1e6')" 1

# ---- the dashboard

check "Prometheus can compute a rate from nmd's counters" wait_until 10 says 'rate(nm_samples_total[1m]) > bool 0' 1
check "each query of the dashboard uses existing metrics and succeeds" \
    "$here/dashboard.py" "$here/../../packaging/nmd-dashboard.json" "$dir/metrics" \
    "http://127.0.0.1:$prometheus_port"

# ---- read-only, and nothing private

id=$(field_of o2 .id)
for request in 'POST /v1/containers' 'POST /v1/drain' 'POST /v1/reload' "POST /v1/containers/$id/kill" \
    "DELETE /v1/containers/$id" "PATCH /v1/containers/$id"; do
    is "TCP refuses ${request/$id/ID}" "$(tcp "${request#* }" -X "${request% *}" --json \
        '{"command":["true"]}' -o /dev/null -w '%{http_code}')" 403
done
is "TCP refuses logs" "$(tcp "/v1/containers/$id/logs" -o /dev/null -w '%{http_code}')" 403
is "the refused requests change neither the container nor the node" "$(state_of o2) $(status_of .node.state)" "SCHEDULED running"
for path in /v1/status /v1/containers '/v1/containers?all=true' "/v1/containers/$id" /v1/decisions \
    /v1/events /v1/history /v1/config /metrics; do
    tcp "$path"
done >"$dir/everything"
like "the list of containers on the socket has the commands" "$(nmctl list --json)" secret-argument
like "the list of containers over TCP has the containers" "$(cat "$dir/everything")" '"name": *"o2"'
is "no response over TCP has a command or an environment" \
    "$(grep -oE 'secret-(argument|value)|HIDDEN|hog\.py' "$dir/everything" | sort | uniq -c)" ""
check "nmd keeps running" nmd_alive

# ---- counters go on where they were

nmd_stop
nmd_start
is "a restarted nmd continues the counters of kills and pauses" "$(tcp /metrics | grep -E '^nm_(kills|pauses)_total.* [1-9]')" \
    $'nm_pauses_total{reason="cpu-over-beta"} 1\nnm_kills_total{reason="memory-over-beta"} 1'
done_testing
