#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: others
#
# nmscale with servers that are not an active ResourceManager: no server, a standby, web pages, values of wrong types, endless
# and slow responses. Then nmscale with its own files damaged, owned by another user, or locked. Each error has a message of one
# sentence and its own exit status.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

nmscale=$NMD_TEST_BUILD/nmscale/nmscale
[ -x "$nmscale" ] || skip_all "there is no $nmscale: build it first"
cat >"$dir/server.py" <<'END'
# A server that sends the files of a directory. The file mode.PORT selects its behaviour.
import http.server, sys, threading, time, pathlib
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        with open(sys.argv[1] + "/requests", "a") as f:
            f.write(f"{self.server.server_port} {self.path}\n")
    def reply(self, code, body=b"", headers=()):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        here = pathlib.Path(sys.argv[1])
        mode = (here / f"mode.{self.server.server_port}").read_text().strip()
        name = self.path.split("?")[0].rsplit("/", 1)[1]
        if mode == "standby":
            return self.reply(307, b"This is standby RM.", [("Location", (here / "active").read_text().strip() + self.path)])
        if mode == "none-active":
            return self.reply(307, b"There is no active RM right now.", [("Refresh", "1;url=x")])
        if mode in ("401", "404", "503"):
            return self.reply(int(mode), b"<html>no</html>")
        if mode == "endless" and name == "nodes":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * 65536)
            except OSError:
                return
        if mode == "slow" and name == "nodes":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.05)
            except OSError:
                return
        if mode == "cut" and name == "nodes":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            return self.wfile.write(b"{")
        self.reply(200, (here / mode / name).read_bytes())
for _ in range(2):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(sys.argv[1] + "/ports", "a") as f:
        f.write(f"{server.server_port}\n")
    threading.Thread(target=server.serve_forever).start()
END
python3 "$dir/server.py" "$dir" >"$dir/server.log" 2>&1 &
server=$!
at_exit "end_process $server"
both_ports() { [ "$(wc -l <"$dir/ports")" = 2 ]; }
need 'two servers listen' wait_until 20 both_ports
mapfile -t ports <"$dir/ports"
one=http://127.0.0.1:${ports[0]} two=http://127.0.0.1:${ports[1]}
mode() { printf '%s\n' "$1" >"$dir/mode.${ports[0]}"; printf '%s\n' "${2:-$1}" >"$dir/mode.${ports[1]}"; } # ONE [TWO]
# Writes the pages of a mode. All pages are valid, except for pages that are given as NAME=TEXT.
node='{"id":"a:1","nodeHostName":"a","state":"RUNNING","numContainers":0,"usedMemoryMB":0,"availMemoryMB":1024,
    "usedVirtualCores":0,"availableVirtualCores":1}'
pages() { # MODE [NAME=TEXT...]
    local mode=$1 pair
    shift
    mkdir -p "$dir/$mode"
    printf '{"nodes":{"node":[%s]}}' "$node" >"$dir/$mode/nodes"
    printf '{"apps":{}}' >"$dir/$mode/apps"
    printf '{"clusterMetrics":{"containersPending":0}}' >"$dir/$mode/metrics"
    for pair in "$@"; do
        printf '%s' "${pair#*=}" >"$dir/$mode/${pair%%=*}"
    done
    mode "$mode"
}
status=0 out='' err=''
nms() { # OPTION...: $status, $out, $err
    status=0
    "$nmscale" --state "$dir/state.json" --idle-for 0s --min-nodes 0 "$@" >"$dir/out" 2>"$dir/err" || status=$?
    out=$(cat "$dir/out") err=$(cat "$dir/err")
}
# Checks that nmscale fails with this status, and with a message of one line that matches REGEX.
fails() { # NAME STATUS REGEX OPTION...
    local name=$1 wanted=$2 regex=$3
    shift 3
    nms "$@"
    is "$name: nmscale prints one line and ends with the documented exit status" "$status, lines $(wc -l <"$dir/err")" "$wanted, lines 1"
    like "$name: the error gives the reason" "$err" "$regex"
}

# ---- valid responses ------
pages good
nms --rm "$one"
is 'nmscale names the node of a valid response' "$status $(tail -n 1 <<<"$out" | cut -d' ' -f1)" '0 a:1'
pages empty 'nodes={"nodes":null}'
nms --rm "$one"
is 'nmscale succeeds for a cluster without nodes' "$status $out" '0 No node is running.'

# ---- no server, or no active ResourceManager ----
fails 'a ResourceManager that is not running' 3 'http://127.0.0.1:1/.*onnect' --rm http://127.0.0.1:1 --state "$dir/nobody.json"
printf '%s\n' "$two" >"$dir/active"
mode standby good
fails 'a single ResourceManager, which is on standby' 3 "no active ResourceManager .*redirected to $two/ws.*--rm" --rm "$one"
is 'nmscale does not follow the redirection of a standby ResourceManager' "$(grep -c "^${ports[1]} .*apps" "$dir/requests")" 0
rm -f "$dir/state.json"
nms --rm "$one" --rm "$two"
is 'nmscale uses the active one if the other ResourceManager is on standby' "$status" 0
mode none-active
fails 'two ResourceManagers that are both on standby' 3 'no active ResourceManager' --rm "$one" --rm "$two"
mode 503 good
nms --rm "$one" --rm "$two"
is 'nmscale uses the active one if the other ResourceManager is starting' "$status" 0
mode 401
fails 'a ResourceManager that requires a login' 3 'HTTP 401: it requires authentication' --rm "$one"
mode 404
fails "a web server without the ResourceManager's pages" 3 'HTTP 404' --rm "$one"

# ---- responses of other servers ------
pages html 'nodes=<html>hello</html>'
fails 'a web page instead of JSON' 3 '/ws/v1/cluster/nodes: it is not JSON' --rm "$one"
pages types "nodes={\"nodes\":{\"node\":[${node/1024/\"many\"}]}}"
fails 'a value of the wrong type' 3 '"availMemoryMB" is not a whole number' --rm "$one"
pages escape "nodes={\"nodes\":{\"node\":[${node/a:1/\\u001b[2J}]}}"
fails "an escape sequence in a node's id" 3 '"id" is not a word of printable ASCII' --rm "$one"
pages missing 'metrics={"clusterMetrics":{}}'
fails 'a missing count' 3 '"containersPending" is missing' --rm "$one"
pages apps 'apps={"apps":{"app":[{"id":"x"}]}}'
fails 'an application without a state' 3 '/ws/v1/cluster/apps: "state" is missing' --rm "$one"
mode good
pages endless
fails 'an endless response' 3 'larger than 128 MiB' --rm "$one" --http-timeout 100s
pages slow
fails 'a slow response' 3 'imed out' --rm "$one" --http-timeout 500ms
pages cut
fails 'a response that is cut off' 3 '/ws/v1/cluster/nodes: ' --rm "$one"

# ---- the command line and nmscale's own files ----
mode good
fails 'a missing address' 2 '--rm is missing' --all
fails 'an address that is not a URL' 2 "--rm 'rm:8088': it must be http://HOST:PORT" --rm rm:8088
fails 'a URL of a file' 2 'it must be http://HOST:PORT' --rm file:///etc/passwd
fails 'a URL with a path' 2 'it must be http://HOST:PORT' --rm "$one/cluster"
fails 'a missing exclude file' 2 '--apply needs --exclude-file' --rm "$one" --apply
fails 'an exclude file without --apply' 2 'need --apply' --rm "$one" -x "$dir/x"
fails 'an invalid duration' 2 "--idle-for 'soon': it must be a time" --rm "$one" --idle-for soon
fails 'a negative number' 2 "--min-nodes '-1': it must be a whole number from 0 to 20000" --rm "$one" --min-nodes -1
fails 'an operand' 2 "'x': nmscale takes options only" --rm "$one" x
rm -f "$dir/state.json"
nms --rm "$two"
fails 'a state file of another cluster' 1 "it belongs to $two, not to $one: name another file with --state" --rm "$one"
rm -f "$dir/state.json"
printf '{"format"' >"$dir/state.json"
fails 'a damaged state file' 1 'state.json: .*remove the file' --rm "$one"
rm -f "$dir/state.json"
fails 'a state file in /proc' 1 'can.t be (created|locked)' --rm "$one" --state /proc/nmscale/state.json
printf '<configuration/>' >"$dir/exclude.xml"
fails 'an exclude file that is XML' 1 'exclude.xml is XML' --rm "$one" --apply -x "$dir/exclude.xml" --rmadmin true
(flock 9 && : >"$dir/locked" && exec sleep 60) 9>"$dir/state.json.lock" &
holder=$!
at_exit "end_process $holder"
need 'another process holds the lock' wait_until 20 test -e "$dir/locked"
fails 'a state file that another nmscale has locked' 6 'another nmscale is running' --rm "$one"
done_testing
