#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# The HTTP interface of the real nmd: its OpenAPI description against its answers, curl alone,
# what is served over TCP, Prometheus, and clients that stall, flood and talk nonsense.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
nmd_configure <<END
[interface]
http-address = 127.0.0.1:$port
socket-mode = 0666
END
nmd_start || exit 1
api() { # PATH [CURL-OPTION...]
    local path=$1
    shift
    curl -sS --max-time 20 --unix-socket "$NMD_SOCKET" "$@" "http://nmd$path"
}
code() { api "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
tcp() { curl -sS --max-time 20 "${@:2}" "http://127.0.0.1:$port$1"; }

# ---- the description

[ -x "$NMD_TEST_BUILD/openapi-check" ] || make -s -C "$NMD_TEST_BUILD" openapi-check >&2
described=$("$NMD_TEST_BUILD/openapi-check" "$NMD_SOCKET") || true
at_least "the description is held against many answers" "$(grep -c '^ok' <<<"$described")" 30
is "every answer is as described" "$(grep -A1 '^not ok' <<<"$described")" ""

# ---- curl alone

id=$(api /v1/containers --json '{"command":["sh","-c","echo out; echo err >&2; exit 3"],
    "name":"curl","memory_bytes":8388608,"vcores":0.01}' | jq -r .id)
is "wait answers with the end" "$(api "/v1/containers/$id/wait" | jq -c '[.state,.exit_code]')" \
    '["COMPLETED",3]'
is "stdout" "$(api "/v1/containers/$id/logs")" "out"
is "stderr" "$(api "/v1/containers/curl/logs?stream=stderr")" "err"
like "events tell of it" "$(api /v1/events)" "\"container\":\"$id\".*\"to\":\"COMPLETED\""
is "an event's line is a JSON object" "$(api /v1/events | jq -s 'all(type == "object")')" true
is "an unknown member is named" "$(api /v1/containers --json '{"command":["true"],"memry":1}' |
    jq -r .error.value)" memry
is "a body over 1 MiB is refused" "$(head -c 1100000 /dev/zero |
    code /v1/containers -H 'Content-Type: application/json' -H Expect: --data-binary @-)" 413
is "malformed JSON is refused" "$(code /v1/containers --json '{"command":')" 400
is "no such path" "$(code /v2)" 404
is "no such method" "$(code /v1/status -X PUT)" 405

# ---- TCP

like "the status page is served over TCP" "$(tcp /)" '<title>nmd'
is "and the status" "$(tcp /v1/status | jq -r .node.state)" running
is "containers come without their commands" \
    "$(tcp '/v1/containers?all=true' | jq 'length > 0 and all(has("command") | not)')" true
is "nothing can be done there" "$(tcp /v1/drain -X POST -o /dev/null -w '%{http_code}')" 403
is "and nobody's logs be read" \
    "$(tcp "/v1/containers/$id/logs" -o /dev/null -w '%{http_code}')" 403

# ---- Prometheus

# Its package would start a service: only the programs are taken out of it.
prometheus=$NMD_TEST_BUILD/prometheus
if ! command -v promtool >/dev/null && ! [ -x "$prometheus/usr/bin/promtool" ]; then
    (cd "$dir" && apt-get -qq download prometheus && mkdir -p "$prometheus" &&
        dpkg -x prometheus_*.deb "$prometheus") >&2
fi
PATH=$PATH:$prometheus/usr/bin
if command -v promtool >/dev/null; then
    is "promtool check metrics is clean" "$(api /metrics | promtool check metrics 2>&1)" ""
    prom_port=$(free_port)
    cat >"$dir/prometheus.yml" <<-END
	scrape_configs:
	  - job_name: nmd
	    scrape_interval: 1s
	    static_configs: [{targets: ["127.0.0.1:$port"]}]
	END
    prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" \
        --web.listen-address="127.0.0.1:$prom_port" >"$dir/prometheus.log" 2>&1 &
    prom_pid=$!
    end_prometheus() { kill "$prom_pid" && wait "$prom_pid"; }
    at_exit end_prometheus
    query() {
        curl -sS "http://127.0.0.1:$prom_port/api/v1/query" --data-urlencode "query=$1" |
            jq -r '.data.result[0].value[1]'
    }
    scraped() { [ "$(query 'up{job="nmd"}')" = 1 ]; }
    check "a real Prometheus scrapes it" wait_until 30 scraped
    is "and reads the same capacity" "$(query nm_capacity_memory_bytes)" \
        "$(api /v1/status | jq -r .node.capacity.memory_bytes)"
    at_least "and the sampling rounds" "$(query nm_samples_total)" 1
    is "and a quantile of the reaction time can be asked for" \
        "$(query 'count(nm_reaction_seconds_bucket{action="kill"}) > 5' | grep -c '^[0-9]')" 1
else
    skip "promtool check metrics is clean" "no promtool, and its package can't be fetched"
    skip "a real Prometheus scrapes it" "no prometheus, and its package can't be fetched"
fi

# ---- clients that misbehave

cat >"$dir/abuse.py" <<'END'
import os, random, resource, socket, sys

path = sys.argv[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(path)
    return s

held = [connect() for _ in range(1200)]
for i, s in enumerate(held):
    if i % 4 == 1:
        s.send(b"GET /v1/sta")
    elif i % 4 == 2:
        s.send(b"POST /v1/containers HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    elif i % 4 == 3:
        s.send(b"GET /v1/events?follow=true HTTP/1.1\r\nHost: x\r\n\r\n")
random.seed(1)
for _ in range(300):
    s = connect()
    try:
        s.send(os.urandom(random.randrange(1, 3000)))
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # refused already
    s.close()
s = connect()
s.send(b"GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
print(s.makefile("rb").readline().decode().strip())
END
like "served beside 1,200 others that stall, and nonsense" \
    "$(python3 "$dir/abuse.py" "$NMD_SOCKET")" 'HTTP/1.1 200 OK'
check "nmd goes on" nmd_alive
connections() { find "/proc/$nmd_pid/fd" -lname 'socket:*' | wc -l; }
few_connections() { [ "$(connections)" -lt 20 ]; }
check "and keeps nothing of them" wait_until 60 few_connections
is "a second nmd is told that the socket is taken" \
    "$("$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state2" \
        --runtime-dir "$dir/run2" --slice "other$slice" --backend direct 2>&1 |
        grep -c 'in use by a running nmd')" 1
rmdir "$(nmd_cgroup_root)/other$slice"
done_testing
