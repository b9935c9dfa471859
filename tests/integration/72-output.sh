#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# Output of containers: how much of it nmd keeps, and how much its readers get. Output must not fill a disk, even if the journal
# is on the same small file system.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
mkdir -p "$dir/state"
mount -t tmpfs -o size=16M,mode=700 none "$dir/state" ||
    { skip "the suite of output on a small disk" "no file system can be mounted here"; done_testing; }
at_exit 'umount -l "$dir/state"'
nmd_configure <<END
[node]
memory = 1000M
[over-allocation]
enabled = no
[containers]
output-max = 256K
[health]
period = 1s
END
nmd_start || exit 1
low=(-m 20M -c 0.1)
used() { du -sk "$dir/state/logs" 2>/dev/null | cut -f1; }
log_of() { echo "$dir/state/logs/$(field_of "$1" .id)"; }

# ---- a container that writes without end ------------------------------------------------------------------------

submit flood "${low[@]}" -- sh -c 'echo begin; cat /dev/zero & cat /dev/zero >&2'
wait_until 5 in_state flood RUNNING
# Does not check whether an earlier log file still exists, because each log file exists for less than a millisecond.
turned() {
    local log
    log=$(log_of flood)
    [ -n "$(find "$log" -name 'stdout.[1-9]*' -print -quit)" ] && [ -n "$(find "$log" -name 'stderr.[1-9]*' -print -quit)" ]
}
check "the logs of a container that writes without end are cut" wait_until 20 turned
most=0
for _ in {1..40}; do
    now=$(used)
    most=$((now > most ? now : most))
done
at_least "the logs of a container that writes without end never exceed their limit" "$((2 * 256 + 64 - most))" 0
check "a container that writes without end keeps running" in_state flood RUNNING
is "the node is healthy while a container writes without end" \
    "$(nmctl status --json | jq -r '[.. | .healthy? | select(. != null)] | first')" true
check "other containers run while one container writes without end" nmctl run "${low[@]}" -- true
nmctl kill --now --wait flood >/dev/null
nmctl logs --stdout flood | head -c 120 >"$dir/head"
like "the log says how much output was cut, and why" "$(tr -d '\0' <"$dir/head")" \
    '^\[nmd: [0-9]* bytes of output came before this line; only the newest 256 KiB of the log are kept\]'

# ---- readers of the output --------------------------------------------------------------------------------------

submit counted "${low[@]}" -- sh -c 'seq 300000; exec sleep 1000'
wait_until 5 in_state counted RUNNING
counted() { [ "$(nmctl logs --stdout --tail 1 counted)" = 300000 ]; }
check "the newest output is in the log" wait_until 20 counted
kept=$(nmctl logs --stdout counted | tail -n +3)
first=$(head -n 1 <<<"$kept")
at_least "the log has many lines before the newest output" "$((300000 - first))" 15000
is "no line is missing between the files of a log" "$(cksum <<<"$kept")" "$(seq "$first" 300000 | cksum)"
is "logs --tail reads lines from several files of a log" \
    "$(nmctl logs --stdout --tail 20000 counted | cksum)" "$(seq 280001 300000 | cksum)"
api GET "/v1/containers/counted/logs?from=1988889"
is "the log can be read from any byte that is not cut" "$(cksum <"$dir/api.body")" "$(seq 300000 | tail -c +1988890 | cksum)"
nmctl kill --now --wait counted >/dev/null

try nmctl run "${low[@]}" -- sh -c 'seq 20000; echo end >&2'
is "nmctl run prints output completely if it is within the limit" "$(cksum <<<"$out")" "$(seq 20000 | cksum)"
is "nmctl run prints the output of both streams completely" "$err" end
# The reader is slower than the writer, and nmd is restarted in the meantime.
nmctl run --name steady "${low[@]}" -- sh -c 'for i in $(seq 300); do echo $i; sleep 0.01; done' >"$dir/steady" 2>"$dir/steady.err" &
reader=$!
wait_until 5 in_state steady RUNNING
nmd_kill
nmd_start
wait "$reader"
is "logs -f succeeds across a restart of nmd" "$?" 0
is "logs -f misses no output across a restart of nmd" "$(cksum <"$dir/steady")" "$(seq 300 | cksum)"

# ---- output just before the end --------------------------------------------------------------------------------

submit last "${low[@]}" -- sh -c 'echo "last words"; exec sleep 1000'
wait_until 5 in_state last RUNNING
nmctl kill --now --wait last >/dev/null
is "the log has the output that a killed container wrote last" "$(nmctl logs last)" "last words"

# ---- the logs' share of the disk -----------------------------------------------------------------------------------

for i in {1..24}; do nmctl run --name "full$i" "${low[@]}" -- head -c 1000000 /dev/zero >/dev/null; done
at_least "all logs together stay within their share of the disk" "$((8192 + 512 - $(used)))" 0
submit many1 "${low[@]}" -- sh -c 'cat /dev/zero & cat /dev/zero >&2'
submit many2 "${low[@]}" -- sh -c 'cat /dev/zero & cat /dev/zero >&2'
submit many3 "${low[@]}" -- sh -c 'cat /dev/zero & cat /dev/zero >&2'
for name in many1 many2 many3; do wait_until 5 in_state $name RUNNING; done
samples 10
at_least "all logs together stay within their share of the disk while containers write without end" "$((8192 + 512 - $(used)))" 0
nmctl kill --now --wait many1 many2 many3 >/dev/null

# ---- a disk that is full ---------------------------------------------------------------------------------------------

submit going "${low[@]}" -- sh -c "while ! [ -e $dir/full ]; do sleep 0.05; done; head -c 300000 /dev/zero
    touch $dir/written; while ! [ -e $dir/free ]; do sleep 0.05; done; echo after; exit 3"
wait_until 5 in_state going RUNNING
cat /dev/zero >"$dir/state/ballast" 2>/dev/null
shortened() { grep -q 'has ended, and only the end of its log was kept' "$dir/nmd.log"; }
check "logs of ended containers are cut when the journal has no space" wait_until 25 shortened
cat /dev/zero >>"$dir/state/ballast" 2>/dev/null
touch "$dir/full"
check "a container that writes to a full disk is not blocked" wait_until 10 test -e "$dir/written"
rm "$dir/state/ballast"
touch "$dir/free"
check "a container that wrote to a full disk ends with its command's exit status" wait_until 10 ended_as going "3 exited"
like "the log says how many bytes of output are missing after the disk was full" \
    "$(nmctl logs going | tr -d '\0')" 'bytes of output are missing here: No space left on device'
is "the log has the output that was written after the disk had space again" "$(nmctl logs --tail 1 going)" after
like "the container's record says that output is missing" "$(field_of going .message)" 'bytes of its output could not be written'
nmd_alive || not_ok "nmd still runs"
done_testing
