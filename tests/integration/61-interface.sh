#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# The HTTP interface of the real nmd: its responses compared with the OpenAPI description, use with curl only, the part that is
# served over TCP, and clients that stall, send too much or send invalid requests.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

port=$(free_port)
nmd_configure <<END
[interface]
http-address = 127.0.0.1:$port
http-hosts = scraped.example
socket-mode = 0666
END
nmd_start || exit 1
ask() { # PATH [CURL-OPTION...]
    local path=$1
    shift
    curl -sS --max-time 20 --unix-socket "$NMD_SOCKET" "$@" "http://nmd$path"
}
code() { ask "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
tcp() { curl -sS --max-time 20 "${@:2}" "http://127.0.0.1:$port$1"; }

# ---- the description

[ -x "$NMD_TEST_BUILD/openapi-check" ] || make -s -C "$NMD_TEST_BUILD" openapi-check >&2
described=$("$NMD_TEST_BUILD/openapi-check" "$NMD_SOCKET") || true
at_least "many responses of nmd are compared with the OpenAPI description" "$(grep -c '^ok' <<<"$described")" 30
is "each response of nmd matches the OpenAPI description" "$(grep -A1 '^not ok' <<<"$described")" ""

# ---- curl only

id=$(ask /v1/containers --json '{"command":["sh","-c","echo out; echo err >&2; exit 3"],
    '"$me"',"name":"curl","memory_bytes":8388608,"vcores":0.01}' | jq -r .id)
is "the wait request returns the result of the container" "$(ask "/v1/containers/$id/wait" | jq -c '[.state,.exit_code]')" \
    '["COMPLETED",3]'
is "curl gets the command's stdout from the log" "$(ask "/v1/containers/$id/logs")" "out"
is "curl gets the command's stderr from the log" "$(ask "/v1/containers/curl/logs?stream=stderr")" "err"
like "the event stream reports the container" "$(ask /v1/events)" "\"container_id\":\"$id\".*\"to\":\"COMPLETED\""
is "the event stream has one JSON object per line" "$(ask /v1/events | jq -s 'all(type == "object")')" true
is "the error for an unknown JSON member names the member" "$(ask /v1/containers --json '{"command":["true"],"memry":1}' |
    jq -r .error.value)" memry
is "a request with a body over 1 MiB is refused" "$(head -c 1100000 /dev/zero |
    code /v1/containers -H 'Content-Type: application/json' -H Expect: --data-binary @-)" 413
is "a request with malformed JSON is refused" "$(code /v1/containers --json '{"command":')" 400
is "a request for an unknown path is refused" "$(code /v2)" 404
is "a request with an unknown method is refused" "$(code /v1/status -X PUT)" 405

# ---- TCP

like "the status page is served over TCP" "$(tcp /)" '<title>nmd'
is "the node's status is served over TCP" "$(tcp /v1/status | jq -r .node.state)" running
is "the list of containers over TCP has no commands" \
    "$(tcp '/v1/containers?all=true' | jq 'length > 0 and all(has("command") | not)')" true
is "requests that change a container are refused over TCP" "$(tcp /v1/drain -X POST -o /dev/null -w '%{http_code}')" 403
is "logs can't be read over TCP" \
    "$(tcp "/v1/containers/$id/logs" -o /dev/null -w '%{http_code}')" 403

# ---- foreign requests over TCP: wrong host names, and requests that two parsers understand differently

tcp_code() { tcp /v1/version -o /dev/null -w '%{http_code}' "$@"; }
is "a request to the host's name is served" "$(tcp_code -H "Host: $(hostname):$port")" 200
is "a request to a server name from the configuration is served" "$(tcp_code -H 'Host: scraped.example')" 200
is "a request to any other server name is refused (DNS rebinding)" "$(tcp_code -H 'Host: evil.example')" 421
is "a request with two Content-Length headers is refused" "$(tcp_code -H 'Content-Length: 0' -H 'Content-length: 5')" 400
is "a request with Content-Length and chunked encoding is refused" "$(tcp_code -H 'Content-Length: 5' -H 'Transfer-Encoding: chunked')" 400
cat >"$dir/strange.py" <<'END'
import socket, sys

port = int(sys.argv[1])

def connect(source):
    return socket.create_connection(("127.0.0.1", port), 20, (source, 0))

def status(s, text):
    s.sendall(text)
    return s.makefile("rb").readline().decode().split(" ")[1]

get = b"GET /v1/version HTTP/1.1\r\nHost: localhost\r\n"
print(status(connect("127.0.0.2"), get + b"X: a\0b\r\n\r\n"), status(connect("127.0.0.2"), get + b"X: a\r\n b\r\n\r\n"))
held = [connect("127.0.0.2") for _ in range(300)]
for s in held:
    try:
        s.sendall(b"GET /v1/vers")
    except OSError:
        pass  # nmd has refused the request already
print(status(connect("127.0.0.3"), get + b"\r\n"), status(connect("127.0.0.1"), get + b"\r\n"))
END
mapfile -t strange < <(python3 "$dir/strange.py" "$port")
is "a request with a NUL byte and one with a folded header are refused" "${strange[0]}" "400 400"
is "nmd serves complete requests while one host holds 300 incomplete requests open" "${strange[1]}" "200 200"

# ---- several requests in one turn

# Each request is sent ten times within one turn of nmd's event loop. The later requests find containers that the first request
# has killed.
hurried=$(seq -f hurried-%g 10)
for name in $hurried; do nmctl run --detach --name "$name" -m 1M -c 0.01 -- sleep 1000 >/dev/null; done
for name in $hurried; do wait_until 5 in_state "$name" RUNNING; done
kill -STOP "$nmd_pid"
asking=()
for _ in $(seq 10); do
    for name in $hurried; do
        curl -s -m 20 -o /dev/null -w '%{http_code}\n' --unix-socket "$NMD_SOCKET" \
            --json '{"now":true}' "http://nmd/v1/containers/$name/kill" >>"$dir/hurried-codes" &
        asking+=($!)
    done
done
sleep 0.5 # time for all clients to send their requests; with fewer clients the test is only weaker
kill -CONT "$nmd_pid"
wait "${asking[@]}"
is "each of ten simultaneous kill requests of one client succeeds or reports the end of the container" \
    "$(grep -c . "$dir/hurried-codes") $(grep -cvE '^(200|409)$' "$dir/hurried-codes")" "100 0"
hurried_over() { [ "$(nmctl list --json | jq '[.[] | select(.name | startswith("hurried"))] | length')" = 0 ]; }
check "the container that got ten kill requests ends" wait_until 5 hurried_over
is "the container has the exit reason killed" "$(nmctl list --all --json |
    jq -r '[.[] | select(.name | startswith("hurried")) | .exit_reason] | unique | join(" ")')" killed

# ---- clients that misbehave

cat >"$dir/abuse.py" <<'END'
import os, random, resource, socket, sys

path = sys.argv[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)  # connects before the timeout is set, because with a timeout a full backlog would be an error
    s.settimeout(20)
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
        pass  # nmd has refused the request already
    s.close()
s = connect()
s.send(b"GET /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
print(s.makefile("rb").readline().decode().strip())
END
like "nmd serves a request while 1,200 other clients stall or send invalid data" \
    "$(python3 "$dir/abuse.py" "$NMD_SOCKET")" 'HTTP/1.1 200 OK'
check "the same nmd is still running" nmd_alive
connections() { find "/proc/$nmd_pid/fd" -lname 'socket:*' | wc -l; }
few_connections() { [ "$(connections)" -lt 20 ]; }
check "nmd has closed the file descriptors of these clients" wait_until 60 few_connections
is "a second nmd reports that the socket is already in use" \
    "$("$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state2" \
        --runtime-dir "$dir/run2" --slice "other$slice" --backend direct 2>&1 |
        grep -c "can't start: another nmd (pid $nmd_pid) uses the socket $NMD_SOCKET")" 1
rmdir "$(nmd_cgroup_root)/other$slice" 2>/dev/null
done_testing
