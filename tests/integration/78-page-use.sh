#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Use of the status page: a real browser sorts, filters, searches, opens a container and reads the end of its output, by mouse and by
# keys, on a desktop in light colours and on a phone in dark colours. It uses the socket, which it reaches like through ssh -L, and TCP,
# which serves less data. Names and output of users never become markup. With NMD_TEST_KEEP=DIR the pictures are kept in DIR.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

chromium=$(command -v chromium) || skip_all "no chromium"
open_place
NMD_SOCKET=$place/nmd.sock
tcp=$(free_port)
node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
pause = yes
[interface]
http-address = 127.0.0.1:$tcp
socket-mode = 0666
END
nmd_start || exit 1
relay=$(free_port)
/usr/bin/python3 "$here/relay.py" "$NMD_SOCKET" "$(id -u)" "$(id -g)" "$relay" 2>"$dir/relay.err" &
# shellcheck disable=SC2034 # it is used when the suite ends
relay_pid=$!
at_exit 'kill "$relay_pid" 2>/dev/null'
reached() { curl -sS --max-time 5 "http://127.0.0.1:$relay/healthz"; }
wait_until 10 reached >/dev/null || diag "$(tail -n 5 "$dir/relay.err")"

app=application_1410901177871_0001
hog web-server -m 400M -c 0.5 -- 80
hog batch-1 --app $app --opportunistic -m 200M -c 0.5 -- 40 --spin
submit nasty -m 10M -c 0.1 -- sh -c 'echo "<img id=made src=x onerror=\"window.ran = 1\"><b>marked</b></pre>"
    echo "second </script><script>window.ran = 1</script>" >&2; sleep 300' '<img id=made src=x onerror="window.ran=1">'
nmctl run --wait --name short --app application_1410901177871_0002 -m 10M -c 0.1 -- sh -c 'exit 3' >/dev/null
wait_until 20 burns batch-1 100 || exit 1
wait_until 10 settled batch-1
node_cpu 1950
wait_until 20 in_state batch-1 PAUSED
submit batch-2 --app $app --opportunistic -m 300M -c 0.5 -- sleep 300
wait_until 20 hold_is batch-2 over-alpha

use() { # PART PORT: $seen is what there was
    seen=$(cd "$dir" && timeout 100 /usr/bin/python3 "$here/page-use.py" "$chromium" "$dir" "http://127.0.0.1:$2/" "$1" 2>"$dir/$1.err") ||
        not_ok "$1: the browser comes to its end" "$(tail -n 12 "$dir/$1.err")" "$seen"
}
saw() { sed -n "s/^$1: //p" <<<"$seen"; }
is_seen() { is "$part: $2" "$(saw "$1")" "$3"; }
is_like() { like "$part: $2" "$(saw "$1")" "$3"; }
harmless() {
    is_seen "made markup" "nothing of a user's became markup" 0
    is_seen ran "nor was any of it run" false
    is_seen "asked elsewhere" "only nmd was asked" "[]"
    is_seen complaints "the browser has no complaint" "[]"
}
detail() {
    is_seen "its name" "a row opens its container" batch-1
    is_like "it is" "which says how it is and why" '^PAUSED.*opportunistic'
    is_like facts "what it asks for" 'Memory .* of 200 MiB asked for'
    is_like decided "and what was decided about it, in nmctl's words" 'Paused .*CPU was at'
}

for part in desktop phone; do
    use "$part" "$relay"
    is "$part: all are listed" "$(saw names | jq -r 'sort | join(" ")')" "batch-1 batch-2 nasty short web-server"
    is_seen "state of web-server" "a state is as nmctl shows it" RUNNING
    is_seen "state of batch-1" "so is a paused one's" PAUSED
    is_seen "state of batch-2" "and a queued one's" QUEUED
    is_seen "state of short" "and how one has ended" "Failed (3)"
    is_seen fits "none of it is cut off" true
    is_seen user "on the socket there are users" "$(id -un)"
    is_like memory "memory is use against request" '^[0-9]+ MiB of 400 MiB$'
    is_like cores "so is CPU" '^[0-9.]+ of 0\.50$'
    is_like age "there is an age" '^[0-9.]+ (s|min)$'
    is_seen exit "an exit code" "code 3"
    is_like why "and a reason to wait" '^1: .+'
    for of in list container; do
        for colours in light dark; do
            is_seen "contrast of the $of, $colours" "all texts of the $of stand out in $colours colours" good
        done
    done
    for role in main table searchbox rowgroup; do
        is_seen "hears $role" "a screen reader finds: $role" true
    done
    is_like "hears charts" "and hears what the charts show" 'Now [0-9]+ % of the capacity used'
    is_seen "without a name" "nothing to press or fill in is without a name" "[]"
    detail
    is_seen "output is shown" "its output is shown" true
    is_seen stdout "as it was written" '<img id=made src=x onerror="window.ran = 1"><b>marked</b></pre>'
    is_like stderr "both of its streams" '^second </script>'
    is_seen pressed "which of them is told" stderr
    harmless
    [ "$part" = desktop ] || continue
    is_seen "hears heads" "a screen reader has the columns' names" '["Container", "State", "Why it waits"]'
    is_seen "by memory" "sorted by memory, the largest is first" web-server
    is_seen sorted "which is told to a screen reader" "memory descending"
    is_seen "the other way" "and once more turns it round" ascending
    is_seen "to be searched" "the field says what can be searched" "name, id, application, user, command, reason"
    is_seen searched "a search takes all words, in any case" '["batch-1", "batch-2"]'
    is_seen told "and says how many there are" "2 of 5 containers"
    is_seen queued "filtered by state" '["batch-2"]'
    is_seen failed "by how they have ended" '["short"]'
    is_seen guaranteed "and by type" '["nasty", "web-server"]'
    is_like "ended app" "an application that has ended is told" '^application_1410901177871_0002 0 .* 1 failed; the last .* ago'
    is_seen range "ten minutes are shown at first" "10 min, 10 min ago"
    is_seen "range of a day" "and up to a day on request" "1 day"
    is_seen "focus is on a row" "keys lead to a row" true
    is_seen "focus is inside" "open it" true
    is_seen "focus comes back" "and back" true
    is_seen "keys sort" "keys sort, too" ascending
    is_seen "focus stays" "figures change beneath the focus" true
done
is_seen width "nothing is wider than the screen" true
is_seen narrow "no word is broken into letters" "[]"
is_seen small "no text is too small" 0

part=tcp
use tcp "$tcp"
is_seen heads "over TCP no users are told" "name,app,type,state,memory,cpu,age,exit,why"
is_seen "to be searched" "nor does the search offer them, or commands" "name, id, application, state, reason"
detail
is_seen "output is shown" "and no output is shown" false
harmless

part=stranger
if [ "$(id -u)" = 0 ]; then
    stranger=$(free_port)
    /usr/bin/python3 "$here/relay.py" "$NMD_SOCKET" 54321 54321 "$stranger" 2>>"$dir/relay.err" &
    # shellcheck disable=SC2034 # it is used when the suite ends
    stranger_pid=$!
    at_exit 'kill "$stranger_pid" 2>/dev/null'
    reached_as_stranger() { curl -sS --max-time 5 "http://127.0.0.1:$stranger/healthz"; }
    wait_until 10 reached_as_stranger >/dev/null || diag "$(tail -n 5 "$dir/relay.err")"
    use stranger "$stranger"
    is_seen told "others' containers are nobody's business" "There are no containers."
    is_seen apps "nor are their applications" true
    is_seen decisions "nor what was decided about them" 0
    is_seen "asked once" "which is asked for once" 1
    is_seen error "and that is no error" ""
else
    skip "another user sees nothing of these" "only root can be another user"
fi

# A page of another site in the same browser must not send requests through the relay.
ask() { curl -sS --max-time 5 -o "$dir/answer" -w '%{http_code}' "$@" "http://127.0.0.1:$relay/v1/status"; }
is "a page's own requests are answered" "$(ask -H "Origin: http://127.0.0.1:$relay")" 200
is "another page's aren't" "$(ask -H 'Origin: http://evil.example')" 403
like "which is told" "$(jq -r .error.message "$dir/answer")" 'from a page of http://evil.example'
is "nor those by a name of somebody else's" "$(ask -H 'Host: evil.example')" 421
is "another page can start nothing" "$(curl -sS --max-time 5 -o "$dir/answer" -w '%{http_code}' -H 'Origin: http://evil.example' \
    -H 'Content-Type: text/plain' --data-binary '{"command":["id"]}' "http://127.0.0.1:$relay/v1/containers")" 403

# The history is kept across a crash, and damaged entries are left out.
ended() { api GET /v1/applications && jq -c '[.applications[] | [.app, .succeeded, .failed, .killed]]' <<<"$api_body"; }
points() { api GET '/v1/history?span_usec=86400000000' && jq '.points | length' <<<"$api_body"; }
oldest() { api GET '/v1/history?span_usec=7200000000' && jq '.points[0].time_usec' <<<"$api_body"; }
is "an application's end is counted" "$(ended)" '[["application_1410901177871_0002",0,1,0]]'
at_least "the day has a point" "$(points)" 1
before=$(oldest)
nmd_kill
nmd_start || exit 1
is "both are there after a crash: the end" "$(ended)" '[["application_1410901177871_0002",0,1,0]]'
is "and the history" "$(oldest)" "$before"
nmd_stop
printf x | dd of="$dir/state/ended-applications" bs=1 seek=50 conv=notrunc status=none
head -c 700000 /dev/zero | tr '\0' x >"$dir/state/history"
nmd_start || exit 1
is "a damaged end is left out" "$(ended)" '[]'
at_least "and a damaged history begins anew" "$(oldest)" "$((before + 1))"

if [ -n "${NMD_TEST_KEEP:-}" ]; then
    mkdir -p "$NMD_TEST_KEEP"
    cp "$dir"/*.png "$NMD_TEST_KEEP"
fi
check "nmd goes on" nmd_alive
done_testing
