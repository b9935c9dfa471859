#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# Invalid input of every kind: nmd prints one clear error that names the object, the value and the allowed values. No state
# changes, and nmd and its containers keep running.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
END
nmd_start
submit there -m 100M -c 0.1 -- sleep 300
wait_until 10 in_state there RUNNING
pid=$(field_of there .pid)

# ---- nmctl ----
usage() { # NAME WORDS ARGUMENT...: checks for exit status 2 and one line with these words
    local name=$1 words=$2
    shift 2
    try nmctl "$@"
    is "nmctl refuses $name with exit status 2" "$status" 2
    like "nmctl: $name: the error names the mistake" "$err" "$words"
    at_least "nmctl: $name: the error has at most three lines" "$((4 - $(wc -l <<<"$err")))" 1
}
usage "an unknown option" "--frobnicate" run --frobnicate -- true
usage "an unknown verb" "frobnicate" frobnicate
usage "a missing command" "command" run
usage "memory of zero" "memory.*'?0'?" run -m 0 -- true
usage "a negative amount of memory" "memory.*-5M" run -m -5M -- true
usage "an amount of memory that overflows" "memory.*99999999999999999999T.*from 1 to 8388607T" run -m 99999999999999999999T -- true
usage "a memory size that is not a number" "memory.*plenty" run -m plenty -- true
usage "a number of vcores that is not a number" "vcores.*two" run -c two -- true
usage "a number of vcores with too many decimals" "vcores.*0\.0001" run -c 0.0001 -- true
usage "a duration that is not a number" "min-runtime.*soon" run --min-runtime soon -- true
usage "a variable without a name" "env.*=x" run -e =x -- true
usage "a pair of options that can't be combined" "guaranteed.*opportunistic" run --guaranteed --opportunistic -- true
usage "a missing container argument" "CONTAINER|container" kill
usage "an interval of zero" "interval '0'.*from 50ms to 1h" top -i 0
usage "an interval that is too small" "interval '1ms'.*from 50ms to 1h" status --watch -i 1ms
usage "a number of zero decisions" "last '0'.*from 1 to 10000" explain --last 0
usage "an empty user" "user ''.*not empty" run -u "" -- true
usage "an empty socket" "socket ''.*not empty" --socket "" status
refusal() { # NAME STATUS WORDS ARGUMENT...
    local name=$1 wanted=$2 words=$3
    shift 3
    try nmctl "$@"
    is "nmctl refuses $name with the documented exit status" "$status" "$wanted"
    like "nmctl: $name: the error names the mistake" "$err" "$words"
}
refusal "an unknown container id" 1 "no-such-one" kill no-such-one
refusal "an unknown container id of show" 1 "container_1_999999" show container_1_999999
refusal "a name with a slash" 2 "name.*letters, digits" run --name a/b -- true
refusal "a name with a control character" 2 "name.*letters, digits" run --name $'a\nb' -- true
refusal "a name that is too long" 2 "name.*63" run --name "$(printf 'x%.0s' {1..64})" -- true
refusal "an unknown user" 125 "no-such-user" run -u no-such-user -- true
refusal "a request larger than the node" 125 "2\.0 GiB.*1000 MiB" run -m 2000M -- true
refusal "a resume of a container that isn't paused" 1 "RESUMED|resumed.*PAUSED" resume there

# ---- HTTP ----
http() { # NAME STATUS THING WORDS METHOD PATH [BODY]
    local name=$1 wanted=$2 thing=$3 words=$4
    shift 4
    api "$@"
    is "HTTP: $name is refused with the right status and thing" \
        "$api_status $(jq -r '.error.thing' <<<"$api_body" 2>/dev/null)" "$wanted $thing"
    like "HTTP: $name: the error message is a sentence" "$(jq -r '.error.message' <<<"$api_body" 2>/dev/null)" "$words"
}
c=/v1/containers
http "malformed JSON" 400 body 'not valid JSON: line 1' POST $c '{"command":['
http "a body that is not an object" 400 body 'JSON object' POST $c '[1]'
http "a missing command" 400 command 'command is missing' POST $c '{}'
http "an empty command" 400 command 'array' POST $c '{"command":[]}'
http "a command that is not a list" 400 command 'array' POST $c '{"command":"true"}'
http "an element of the command that is not a string" 400 'command[1]' 'must be a string, not 1' POST $c '{"command":["a",1]}'
http "an unknown member" 400 body '"colour".*this request allows command' POST $c '{"command":["true"],"colour":"red"}'
http "a repeated member" 400 body 'not valid JSON' POST $c '{"command":["true"],"command":["x"]}'
http "an unknown execution type" 400 execution_type 'GUARANTEED.*OPPORTUNISTIC.*MAYBE' POST $c \
    '{"command":["true"],"execution_type":"MAYBE"}'
http "memory of zero" 400 memory_bytes 'from 1 to [0-9]*, not 0' POST $c '{"command":["true"],"memory_bytes":0}'
http "a negative amount of memory" 400 memory_bytes 'not -1' POST $c '{"command":["true"],"memory_bytes":-1}'
http "a memory size as a string" 400 memory_bytes 'not "1G"' POST $c '{"command":["true"],"memory_bytes":"1G"}'
http "an amount of memory that overflows" 400 memory_bytes 'from 1 to 9223372036854775807, not 99999999999999999999' POST $c \
    '{"command":["true"],"memory_bytes":99999999999999999999}'
http "a number of vcores that overflows" 400 vcores 'to 1000000 .*not 1e999' POST $c '{"command":["true"],"vcores": 1e999}'
http "an amount of memory that is too small" 400 memory '1 MiB' POST $c '{"command":["true"],'"$me"',"memory_bytes":1000}'
http "a memory size above the node's capacity" 422 memory '1000 MiB' POST $c \
    '{"command":["true"],'"$me"',"memory_bytes":9223372036854775807}'
http "a memory size that is not a whole number of bytes" 400 memory_bytes 'whole number' POST $c '{"command":["true"],"memory_bytes":1.5}'
http "a negative number of vcores" 400 vcores 'not -0.5' POST $c '{"command":["true"],"vcores":-0.5}'
http "an environment that is not an object" 400 env 'object' POST $c '{"command":["true"],"env":["A=1"]}'
http "a variable with an invalid name" 400 env "'1A' isn't a valid name.*letters, digits" POST $c '{"command":["true"],"env":{"1A":"x"}}'
http "a relative working directory" 400 workdir "absolute.*'here'" POST $c '{"command":["true"],"workdir":"here"}'
http "an unknown container" 404 id "no container 'nobody'" GET $c/nobody
http "an unknown container to kill" 404 id "no container 'nobody'" POST $c/nobody/kill '{}'
http "an unknown path" 404 path 'openapi' GET /v1/no-such-thing
http "an unknown query parameter" 400 colour 'all' GET "$c?colour=red"
http "an invalid value of a query parameter" 400 all 'true' GET "$c?all=perhaps"
http "an update without memory and vcores" 400 body 'memory_bytes, vcores' PATCH $c/there '{}'
http "an invalid deadline" 400 deadline_usec 'not "soon"' POST /v1/drain '{"deadline_usec":"soon"}'
http "a method that the path does not have" 405 method 'GET' POST /v1/status '{}'
head -c 3000000 /dev/zero | tr '\0' x >"$dir/large"
api POST $c "@$dir/large"
is "HTTP: a body that is too large is refused" "$api_status" 413
printf '{"command":["true","%s"]}' "$(head -c 300000 /dev/zero | tr '\0' x)" >"$dir/long"
http "an argument of the command that is too long for the kernel" 400 command '128 KiB' POST $c "@$dir/long"

# ---- nmd's own command line ----
daemon() { # NAME STATUS WORDS OPTION...
    local name=$1 wanted=$2 words=$3
    shift 3
    try timeout 10 "$NMD" "$@"
    is "nmd refuses $name with the documented exit status" "$status" "$wanted"
    like "nmd: $name: the error names the mistake" "$err" "$words"
}
daemon "an unknown option" 2 frobnicate --frobnicate
daemon "an argument that is not an option" 2 "'here'.*options only" here
daemon "an unknown backend" 2 "backend.*'magic'.*auto, systemd or direct" --backend magic
daemon "an invalid slice" 2 "slice.*'a/b'.*\.slice" --slice a/b
daemon "an unknown log level" 2 "'loud'.*debug" --log-level loud
daemon "a configuration that does not exist" 1 "$dir/nothing" --config "$dir/nothing" --check-config
other_slice=nmdtest$$b.slice
at_exit 'nmd_clean_slice "$other_slice"'
other=(--config "$nmd_conf" --backend direct --slice "$other_slice")
# --check-config prints the same messages as a refused start, and creates no file.
sentence() { sed -E 's/^[0-9:.]+ nmd [a-z]+ +//' <<<"$err"; }
refused() { # NAME WORDS OPTION...
    local name=$1 words=$2 printed
    shift 2
    daemon "$name, checked" 1 "$words" "${other[@]}" "$@" --check-config
    printed=$(sentence)
    is "nmd: $name: no file or cgroup is created" "$(ls -d "$dir"/new-* "$(nmd_cgroup_root)/$other_slice" 2>/dev/null)" ""
    daemon "$name" 1 "$words" "${other[@]}" "$@"
    is "nmd: $name: a start prints the same error as --check-config" "$(sentence)" "$printed"
    rm -rf "$dir"/new-*
    nmd_clean_slice "$other_slice"
}
new=(--state-dir "$dir/new-state" --runtime-dir "$dir/new-run")
mkdir -m 777 "$dir/open"
printf 'not a trace\n' >"$dir/text"
printf '[node]\nmemory = 900T\n' >"$dir/large.conf"
printf '[over-allocation]\nmemory-threshold = 0.9\n[preemption]\nmemory-threshold = 0.9\n' >"$dir/equal.conf"
port=$(free_port)
/usr/bin/python3 -m http.server --bind 127.0.0.1 "$port" >/dev/null 2>&1 &
at_exit "kill $! 2>/dev/null"
wait_until 10 curl -s -o /dev/null "http://127.0.0.1:$port/"
printf '[interface]\nhttp-address = 127.0.0.1:%s\n' "$port" >"$dir/taken.conf"
yarn() { # NAME PROPERTY VALUE: writes the configuration of a cluster with this property
    mkdir -p "$dir/yarn-$1"
    printf '<configuration><property><name>%s</name><value>%s</value></property></configuration>\n' "$2" "$3" \
        >"$dir/yarn-$1/yarn-site.xml"
}
yarn dirs yarn.nodemanager.local-dirs "$dir/text"
yarn address yarn.nodemanager.bind-host 192.0.2.1
yarn number yarn.nodemanager.resource.memory-mb plenty
yarn https yarn.http.policy HTTPS_ONLY
yarn ssl mapreduce.shuffle.ssl.enabled true
sed -i 's|</property>|&<property><name>yarn.nodemanager.aux-services</name><value>mapreduce_shuffle</value></property>|' \
    "$dir/yarn-ssl/yarn-site.xml"
refused "a capacity above the node's memory" 'memory = .*larger than this node' "${new[@]}" --config "$dir/large.conf"
refused "an over-allocation threshold equal to the preemption threshold" 'must be below' "${new[@]}" --config "$dir/equal.conf"
refused "a state directory below a file" "state directory $dir/text/x" --state-dir "$dir/text/x" --runtime-dir "$dir/new-run"
refused "a state directory that all users can write" 'other users may write to it' --state-dir "$dir/open" --runtime-dir "$dir/new-run"
refused "a runtime directory that is a file" "runtime directory $dir/text" --state-dir "$dir/new-state" --runtime-dir "$dir/text"
refused "a node-proc directory that can't be read" "$dir/none can't be read" "${new[@]}" --node-proc "$dir/none"
refused "a socket that is a file" 'is not a socket' "${new[@]}" --socket "$dir/text"
refused "a socket in a directory that does not exist" "$dir/none/nmd.sock: No such" "${new[@]}" --socket "$dir/none/nmd.sock"
refused "a port that is in use" "127.0.0.1:$port: Address already in use" "${new[@]}" --config "$dir/taken.conf"
refused "a recording to a file that is not a trace" 'the file exists and is not a trace' "${new[@]}" --record "$dir/text"
refused "an invalid number in yarn-site.xml" "memory-mb = 'plenty'" "${new[@]}" --yarn-conf "$dir/yarn-number"
refused "a local directory in yarn-site.xml that is a file" "$dir/text can't be used" "${new[@]}" --yarn-conf "$dir/yarn-dirs"
refused "a cluster whose pages need TLS" "yarn.http.policy = 'HTTPS_ONLY'" "${new[@]}" --yarn-conf "$dir/yarn-https"
refused "a cluster whose map outputs need TLS" "shuffle.ssl.enabled = 'true'" "${new[@]}" --yarn-conf "$dir/yarn-ssl"
refused "an address in yarn-site.xml that belongs to another host" 'Cannot assign' "${new[@]}" --yarn-conf "$dir/yarn-address"
# One run reports all errors of both configuration files and of the node.
mkdir -p "$dir/yarn-all"
cat >"$dir/yarn-all/yarn-site.xml" <<EOF
<configuration>
<property><name>yarn.http.policy</name><value>HTTPS_ONLY</value></property>
<property><name>hadoop.security.authentication</name><value>kerberos</value></property>
<property><name>yarn.nodemanager.resource.memory-mb</name><value>8G</value></property>
<property><name>yarn.nodemanager.memroy</name><value>8</value></property>
<property><name>nmd.queue.lenth</name><value>8</value></property>
<property><name>yarn.nodemanager.bind-host</name><value>192.0.2.1</value></property>
<property><name>yarn.nodemanager.local-dirs</name><value>$dir/text</value></property>
<property><name>yarn.nodemanager.health-checker.script.path</name><value>$dir/open/health</value></property>
<property><name>yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user</name><value>n0body</value></property>
<property><name>nmd.webhdfs.ca-file</name><value>$dir/none.pem</value></property>
<property><name>dfs.nameservices</name><value>ns</value></property>
<property><name>dfs.ha.namenodes.ns</name><value>n1,n2</value></property>
<property><name>dfs.namenode.rpc-address.ns.n1</name><value>h:99999</value></property>
<property><name>fs.defaultFS</name><value>hdfs://nn:80:20</value></property>
<property><name>nmd.fetch-command.s3a</name><value>hadop fs -get {uri} {target}</value></property>
<property><name>nmd.fetch-command.abfs</name><value>$dir/open/health {uri} {target}</value></property>
</configuration>
EOF
echo '<configuration><property><name>mapreduce.shuffle.ssl.enabled</name><value>true</value></property>
<property><name>yarn.nodemanager.aux-services</name><value>mapreduce_shuffle</value></property></configuration>' \
    >"$dir/yarn-all/mapred-site.xml"
printf '<configuration>\n<property>\n' >"$dir/yarn-all/hdfs-site.xml"
printf 'min.user.id=none\n' >"$dir/yarn-all/container-executor.cfg"
printf '#!/bin/sh\n' >"$dir/open/health"
chmod 755 "$dir/open/health"
printf '[queue]\npolicy = x\n[quue]\nmax-length = 1\n[preemption]\nkill-grace = soon\n%s' '[over-allocation]
memory-threshold = 0.97
' >"$dir/all.conf"
try timeout 10 "$NMD" "${other[@]}" "${new[@]}" --config "$dir/all.conf" --yarn-conf "$dir/yarn-all" --shim "$dir/none" --check-config
is "nmd reports all mistakes of nmd.conf in one run" "$status $(grep -c 'all.conf:[2368]: ' <<<"$err")" "1 4"
like "one of these errors names a value that contradicts another value" \
    "$err" 'all.conf:8: \[over-allocation\] memory-threshold = 0.97: must be below'
try timeout 10 "$NMD" "${other[@]}" "${new[@]}" --yarn-conf "$dir/yarn-all" --shim "$dir/none" --check-config
is "with several mistakes, nmd ends with exit status 1" "$status" 1
for words in "yarn.http.policy = 'HTTPS_ONLY'" "authentication = 'kerberos'" "memory-mb = '8G'" \
    'yarn.nodemanager.memroy: unknown property' \
    'no key lenth in \[queue\]' 'port 0: Cannot assign' "$dir/text can't be used" 'shuffle.ssl.enabled' \
    "$dir/yarn-all/hdfs-site.xml" \
    "container-executor.cfg, line 1: min.user.id = 'none': must be a uid" \
    "shim $dir/none can't be opened" "health script $dir/open/health, or a directory above it" \
    "rpc-address.ns.n1 = 'h:99999' is not a valid address" \
    "fs.defaultFS = 'hdfs://nn:80:20' is not a valid address" "rpc-address.ns.n2 isn't set" \
    "nmd.webhdfs.ca-file = '$dir/none.pem': No such file" "nmd.fetch-command.s3a: the program 'hadop' doesn't exist in /usr"; do
    like "one run reports several mistakes, with this one: $words" "$err" "$words"
done
[ "$(id -u)" != 0 ] || like "one run reports several mistakes, with a user that does not exist" "$err" \
    "local-user = 'n0body': this user doesn't exist on this node"
is "each of the mistakes is reported once" "$(wc -l <<<"$err")" "$(($(id -u) == 0 ? 18 : 17))"
# nm-localizer does not accept certificates that it can't check. In a new network namespace the loopback interface is down, so
# that they can't be checked.
openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -subj /CN=x -out "$dir/whole.pem" 2>/dev/null
try timeout 10 "$NMD_TEST_BUILD/nm-localizer" --check-ca "$dir/whole.pem"
is "nm-localizer --check-ca accepts valid certificates" "$status$out" 0
if [ "$(id -u)" = 0 ]; then
    try timeout 10 unshare --net "$NMD_TEST_BUILD/nm-localizer" --check-ca "$dir/whole.pem"
    is "nm-localizer --check-ca returns 2 if certificates can't be checked" "$status" 2
    like "the error says that certificates can't be checked" "$out" "^it can't be checked: "
fi
# A refused directory does not hide other errors. Errors about the contents of a refused directory are not reported in addition.
printf '[node]\nmemory = 900T\nsystem-reserved-vcores = 9999\n[health]\nscript = %s/open/health\n' "$dir" >"$dir/world.conf"
printf '[interface]\nhttp-address = 127.0.0.1:%s\n' "$port" >>"$dir/world.conf"
try timeout 10 "$NMD" "${other[@]}" --config "$dir/world.conf" --state-dir "$dir/text/state" --runtime-dir "$dir/text/run" \
    --shim "$dir/none" --check-config
is "with refused directories and other mistakes, nmd ends with exit status 1" "$status" 1
for words in "the runtime directory $dir/text/run can't be created" "the state directory $dir/text/state can't be created" \
    'memory = 900 TiB: larger than this node' 'system-reserved-vcores = 9999: leaves nothing' \
    "health script $dir/open/health, or a directory above it" "127.0.0.1:$port: Address already in use" \
    "shim $dir/none can't be opened"; do
    like "refused directories do not hide this mistake: $words" "$err" "$words"
done
is "with refused directories, each mistake is reported once" "$(wc -l <<<"$err")" 7
printf '[health]\nscript = %s/open/health\n' "$dir" >"$dir/script.conf"
refused "a health script that other users can change" 'health script .*open/health' "${new[@]}" --config "$dir/script.conf"
daemon "a missing shim, checked" 1 "shim $dir/none can't be opened" "${other[@]}" "${new[@]}" --shim "$dir/none" --check-config
try "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" --backend direct \
    --check-config
is "--check-config accepts directories and a socket that a running nmd uses" "$status $out" "0 $nmd_conf: fine"
daemon "a state directory that is a file" 1 "$nmd_conf" "${other[@]}" --state-dir "$nmd_conf" --runtime-dir "$dir/run2"
daemon "a node-proc directory that does not exist" 1 "$dir/none" "${other[@]}" --state-dir "$dir/state2" --runtime-dir "$dir/run2" \
    --socket "$dir/second.sock" --node-proc "$dir/none"
daemon "a socket in a directory that does not exist" 1 "$dir/none/nmd.sock" "${other[@]}" \
    --state-dir "$dir/state2" --runtime-dir "$dir/run2" --socket "$dir/none/nmd.sock"

# ---- started by a parent that ignores SIGCHLD ----
printf 'node01 # nmscale\n' >"$dir/exclude"
try timeout 20 env --ignore-signal=CHLD "$NMD_TEST_BUILD/nmscale/nmscale" --rm http://127.0.0.1:9 --readmit node01 \
    --exclude-file "$dir/exclude" --state "$dir/nmscale.json" --rmadmin false
is "with SIGCHLD ignored, nmscale fails if its command fails" "$status" 1
like "with SIGCHLD ignored, nmscale reports the exit status of its command" "$err" 'false failed \(exit status 1\)'

# ---- no effects of the invalid input ----
is "invalid input has added and removed no container" "$(nmctl list --json | jq -c '[.[] | [.name, .state, .pid]]')" \
    "[[\"there\",\"RUNNING\",$pid]]"
is "invalid input has added no ended container" "$(status_of .containers.completed)" 0
is "invalid input has not changed the state of the node" "$(status_of .node.state)" running
nmd_alive || not_ok "nmd is still there"
done_testing
