#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# Records a real nmd with real containers, and replays the trace in nmsim. The same configuration must lead to the same actions.
# The suite also tests the input that nmsim refuses. 96-simulated-days tests the other functions of nmsim.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

NMSIM=$NMD_TEST_BUILD/sim/nmsim
nmsim() { "$NMSIM" "$@"; }
trace=$dir/node.trace

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[over-allocation]
memory-threshold = 0.7
[preemption]
memory-threshold = 0.85
breaker = 0
settle-samples = 10
END
nmd_start --record "$trace"

# ---- containers for the recording ----
# The suite sets the use of the node by other processes, so that all input of the decisions is known.
hog promised -m 300M -c 0.3 -- 150
hog first --opportunistic -m 100M -c 0.3 --app A -- 60
wait_until 20 in_state first RUNNING
hog second --opportunistic --expect 10min -m 100M -c 0.3 --app A -- 80 # in a replay without its kill, it outlives the recording
wait_until 20 in_state second RUNNING
try nmctl run --name brief -m 10M -c 0.1 -- sleep 1
try nmctl run --name toobig -m 2000M -c 0.1 -- true
is "a request larger than the node is refused" "$status" 125
wait_until 20 uses promised 150
wait_until 20 uses first 60
wait_until 20 uses second 80
wait_until 30 settled promised first second
# On a busy machine, the model gives opportunistic containers less CPU than they had, so they get their memory later in the replay.
samples 20
# The use exceeds the threshold by less than the memory of the latest-started container. Only this container is killed.
node_memory 900
wait_until 20 in_state second COMPLETED
is "the latest-started container is preempted" "$(field_of second .exit_reason)" preempted
node_memory 300
submit later --opportunistic -m 50M -c 0.1 --app A -- sleep 2
wait_until 30 in_state later COMPLETED
samples 5
nmctl kill --now --wait first >/dev/null
nmd_stop
is "nmd ends with exit status 0 after the recording" "$?" 0
cp "$trace" "$dir/story.trace"

# ---- the trace ----
is "other users can't read the trace" "$(stat -c %a "$trace")" 640
check "each line of the trace is JSON" jq -c . "$trace"
is "the first line of the trace is the header, and the last line is the end" \
    "$(jq -r '.nmd_trace // .ev' "$trace" | sed -n '1p;$p' | tr '\n' ' ')" '1 stop '
is "the trace has the settings of the policy" "$(jq -r 'select(.config) | .config["preemption.memory-threshold"]' "$trace")" 0.85
is "the trace has no commands of containers" "$(grep -c 'hog\.py\|sleep' "$trace")" 0
is "the trace has each start and end of a container" "$(jq -r '.ev' "$trace" | grep -cE '^(start|end)$')" 9

# ---- a replay with the same configuration ----
try nmsim run "$trace" --jobs
is "nmsim can replay the trace" "$status" 0
diag "$out"
outcome() { awk -v name="$1" '$2 == name { print $4 }' <<<"$out"; } # NAME
is "the preempted container is preempted in the replay" "$(outcome second)" preempted || diag "$(head -c 20000 "$trace")"
is "the container that was killed by a user ends in the replay" "$(outcome first)" "done"
is "the container that ran when nmd ended is alive in the replay" "$(outcome promised)" alive
is "the short container, which may be in no sample, ends in the replay" "$(outcome brief)" "done"
is "the container after the surge ends in the replay" "$(outcome later)" "done"
is "the refused container is refused in the replay" "$(outcome toobig)" refused
# Compares the times of admissions with a tolerance of a second, because a busy machine starts containers late.
recorded_start() { # NAME
    jq -rs --arg name "$1" '(.[] | select(.ev == "submit" and .name == $name) | .c) as $c |
        .[] | select(.ev == "start" and .c == $c) | .t / 1000000' "$trace"
}
for name in promised first second later; do
    check "in the replay, $name starts at its recorded time" awk -v a="$(recorded_start $name)" -v b="$(awk -v name=$name \
        '$2 == name { sub("started=", "", $6); print $6 }' <<<"$out")" \
        'BEGIN { exit !(b >= 0 && a - b < 1 && b - a < 1) }'
done
outcome_with() { out=$(nmsim run "$trace" --jobs --set "$1") && outcome second; }
is "in a replay with a higher threshold, the container is not preempted" "$(outcome_with preemption.memory_threshold=0.99)" alive
is "in a replay with another victim order, another container is preempted" \
    "$(outcome_with victims=least-work-lost >/dev/null; grep -c preempted <<<"$out")" 1

# ---- a second recording to the same file, with containers that are already running ----
nmd_start --record "$trace"
samples 2
nmctl kill --now --wait promised >/dev/null
nmd_stop
check "nmd renames the earlier trace before it records again" cmp "$trace.1" "$dir/story.trace"
is "the new trace has the container that was adopted" "$(jq -r 'select(.ran) | .name' "$trace")" promised
try nmsim run "$trace" --jobs
is "in the replay, an adopted container continues from its recorded progress" "$(outcome promised)" "done"
head -c -7 "$trace" >"$dir/cut.trace"
try nmsim run "$dir/cut.trace"
is "an incomplete recording can be replayed" "$status" 0
like "the replay says that the recording is incomplete" "$err" 'the last line is incomplete'

# ---- files that can't be used for a recording ----
refuses() { # NAME FILE REGEX
    try "$NMD" --config "$nmd_conf" --socket "$dir/other.sock" --state-dir "$dir/other" \
        --runtime-dir "$dir/other-run" --slice "$slice" --backend direct --record "$2"
    is "$1: nmd refuses to start the recording" "$status" 1
    like "$1: the error gives the reason" "$err" "$3"
}
echo "precious" >"$dir/precious"
refuses "a file that is not a trace" "$dir/precious" 'precious: the file exists and is not a trace'
is "the file that is not a trace is unchanged" "$(cat "$dir/precious")" precious
ln -s "$dir/precious" "$dir/link"
refuses "a symbolic link" "$dir/link" 'link: can.t be written: Too many levels'
mkfifo "$dir/fifo"
refuses "a named pipe" "$dir/fifo" 'fifo: it must be a regular file'
refuses "a file in a directory that does not exist" "$dir/nowhere/trace" 'nowhere/trace: can.t be written: No such file'

# ---- a full disk ----
mkdir "$dir/small"
if mount -t tmpfs -o size=256k none "$dir/small"; then
    at_exit 'umount -l "$dir/small"'
    nmd_start --record "$dir/small/trace"
    wait_until 20 test "$(stat -c %s "$dir/small/trace")" -gt 100
    samples 3
    cat /dev/zero >"$dir/small/ballast" 2>/dev/null
    check "the recording ends when the disk is full" wait_until 60 grep -q 'the recording to .* has ended after' "$dir/nmd.log"
    try nmctl run -m 10M -c 0.1 -- true
    is "nmd keeps running when the disk of the recording is full" "$status" 0
    samples 60
    is "nmd reports once that the recording has ended" "$(grep -c 'has ended after' "$dir/nmd.log")" 1
    is "a recording on a full disk ends with a complete line" "$(tail -c 1 "$dir/small/trace" | od -An -c | tr -d ' ')" '\n'
    nmd_stop
else
    skip "the recording on a full disk" "no file system can be mounted here"
fi

# ---- a picture of a recording ----
if command -v gnuplot >/dev/null; then
    check "nmsim --plot writes a picture of a recording" nmsim compare "$dir/story.trace" --plot "$dir/s.svg"
else
    skip "the picture of the recording" "gnuplot is not installed"
fi

# ---- command line of nmsim ----
try nmsim
is "nmsim without arguments prints help" "$status" 0
is "the help of nmsim has three examples" "$(grep -cE '^  nmsim ' <<<"$out")" 3
bad() { # REGEX ARGUMENT...: a wrong command line, and the expected error
    local regex=$1
    shift
    try nmsim "$@"
    is "nmsim $* is refused with exit status 2" "$status" 2
    like "nmsim $*: the error gives the reason" "$err" "$regex"
}
bad "'walk' is not a command: use run, compare or generate" walk
bad 'compare: name a trace' compare
bad "'stormy': a made-up workload is" generate stormy
bad 'a kind is missing' generate
bad "use a trace or a made-up workload" run "$trace" --generate steady
bad "--hours '0'" run -g steady --hours 0
bad "--memory '1M': it must be a size from 1G" run -g steady --memory 1M
bad "--containers '0'" run -g steady --containers 0
bad "--interference '1.5': it must be a fraction or percentage from 0 to 0.9" run -g steady --interference 1.5
bad 'generate takes' generate steady --interference 0.1
bad "--plot 'x.pdf': it must end in .svg or .png" run -g steady --plot x.pdf
bad 'need the command compare' run -g steady --sweep alpha=1
bad "are for made-up workloads, and '.*' is a trace" run "$trace" --hours 3
bad 'unexpected operand' run "$trace" again
fails() { # REGEX ARGUMENT...: a command that can't be carried out, and the expected error
    local regex=$1
    shift
    try nmsim "$@"
    is "nmsim $* fails with exit status 1" "$status" 1
    like "nmsim $*: the error gives the reason" "$err" "$regex"
}
fails 'No such file' run "$dir/no.trace"
fails 'Is a directory' run "$dir"
fails '/precious:1: this is not a JSON object' run "$dir/precious"
fails 'did you mean preemption.victim-order' run -g steady --hours 1 --set preemption.victim-ordre=app-fair
fails 'alpha=3|memory-threshold=3: allowed is' compare -g steady --hours 1 --case 'alpha=3'
fails 'must be below' compare -g steady --hours 1 --case 'beta=0.1'
fails 'no such file' run -g steady --hours 1 --config "$dir/no.conf"
fails "larger than this node's" run -g steady --hours 1 --set node.memory=100T
head -n 2 "$trace" >"$dir/short.trace"
jq -c 'select(.nmd_trace or .ev == "stop")' "$trace" >"$dir/empty.trace"
fails 'the trace has no container' run "$dir/empty.trace"
fails 'shorter than one sampling period' run "$dir/short.trace"

done_testing
