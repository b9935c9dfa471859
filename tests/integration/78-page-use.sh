#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
# beside: others
#
# Use of the status page: a real browser sorts, filters, searches, opens a container and reads the end of its output. It does so
# by mouse and by keys, on a desktop in light colours and on a phone in dark colours. It uses the socket through a relay, like
# through ssh -L, and TCP, which has less data. Names and output of users never become markup. With NMD_TEST_KEEP=DIR the suite
# stores the pictures in DIR.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

chromium=$(command -v chromium) || skip_all "no chromium"
make_shared_dir
NMD_SOCKET=$shared/nmd.sock
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
wait_until 20 queue_reason_is batch-2 over-alpha

use() { # PART PORT: runs the browser, and sets $seen to what it found
    seen=$(cd "$dir" && timeout 100 /usr/bin/python3 "$here/page-use.py" "$chromium" "$dir" "http://127.0.0.1:$2/" "$1" 2>"$dir/$1.err") ||
        not_ok "$1: the browser runs to its end" "$(tail -n 12 "$dir/$1.err")" "$seen"
}
saw() { sed -n "s/^$1: //p" <<<"$seen"; }
is_seen() { is "$part: $2" "$(saw "$1")" "$3"; }
is_like() { like "$part: $2" "$(saw "$1")" "$3"; }
harmless() {
    is_seen "made markup" "no text from a user becomes markup" 0
    is_seen ran "no text of a user is run as a script" false
    is_seen "asked elsewhere" "the page sends requests only to nmd" "[]"
    is_seen complaints "the browser reports no error" "[]"
}
detail() {
    is_seen "its name" "a click on a row opens its container" batch-1
    is_like "it is" "the details of a container have its state and type" '^PAUSED.*opportunistic'
    is_like facts "the details have the request" 'Memory .* of 200 MiB asked for'
    is_like decided "the details have the latest decision, in nmctl's words" 'Paused .*CPU was at'
}

for part in desktop phone; do
    use "$part" "$relay"
    is "$part: the table lists all containers" "$(saw names | jq -r 'sort | join(" ")')" "batch-1 batch-2 nasty short web-server"
    is_seen "state of web-server" "a running container has the state that nmctl shows" RUNNING
    is_seen "state of batch-1" "a paused container has the state that nmctl shows" PAUSED
    is_seen "state of batch-2" "a queued container has the state that nmctl shows" QUEUED
    is_seen "state of short" "an ended container has the state that nmctl shows" "Failed (3)"
    is_seen fits "no text is cut off" true
    is_seen user "the users are shown over the socket" "$(id -un)"
    is_like memory "memory is shown as use and request" '^[0-9]+ MiB of 400 MiB$'
    is_like cores "CPU is shown as use and request" '^[0-9.]+ of 0\.50$'
    is_like age "the details show the age of the container" '^[0-9.]+ (s|min)$'
    is_seen exit "the details show the exit code" "code 3"
    is_like why "the details show the queue position and the queue reason" '^1: .+'
    for of in list container; do
        for colours in light dark; do
            is_seen "contrast of the $of, $colours" "all texts of the $of have sufficient contrast in $colours colours" good
        done
    done
    for role in main table searchbox rowgroup; do
        is_seen "hears $role" "the page has this role for screen readers: $role" true
    done
    is_like "hears charts" "the charts have a text for screen readers" 'Now [0-9]+ % of the capacity used'
    is_seen "without a name" "each control has a name for screen readers" "[]"
    detail
    is_seen "output is shown" "the details show the output of the container" true
    is_seen stdout "the stdout is shown as it was written" '<img id=made src=x onerror="window.ran = 1"><b>marked</b></pre>'
    is_like stderr "the stderr is shown as it was written" '^second </script>'
    is_seen pressed "the pressed button names the output stream that is shown" stderr
    harmless
    [ "$part" = desktop ] || continue
    is_seen "hears heads" "the columns have names for screen readers" '["Container", "State", "Why it waits"]'
    is_seen "by memory" "sorted by memory, the container with the most memory is first" web-server
    is_seen sorted "a screen reader finds the order" "memory descending"
    is_seen "the other way" "a second click on the column reverses the order" ascending
    is_seen "to be searched" "the search field names the searched columns" "name, id, application, user, command, reason"
    is_seen searched "a search matches all words in any case" '["batch-1", "batch-2"]'
    is_seen matches "the page shows the number of matches" "2 of 5 containers"
    is_seen queued "a filter selects the state" '["batch-2"]'
    is_seen failed "a filter selects failed containers" '["short"]'
    is_seen guaranteed "a filter selects the type" '["nasty", "web-server"]'
    is_like "ended app" "the page shows an ended application" '^application_1410901177871_0002 0 .* 1 failed; the last .* ago'
    is_seen range "the charts show ten minutes at first" "10 min, 10 min ago"
    is_seen "range of a day" "the charts can show a day" "1 day"
    is_seen "focus is on a row" "a row can get the focus with keys" true
    is_seen "focus is inside" "a row can be opened with keys" true
    is_seen "focus comes back" "the focus returns to the row when the details are closed" true
    is_seen "keys sort" "the table can be sorted with keys" ascending
    is_seen "focus stays" "the focus does not move when figures change" true
done
is_seen width "no element is wider than the screen" true
is_seen narrow "no word is broken into letters" "[]"
is_seen small "no text is too small" 0

part=tcp
use tcp "$tcp"
is_seen heads "no users are shown over TCP" "name,app,type,state,memory,cpu,age,exit,why"
is_seen "to be searched" "over TCP, the search field names neither users nor commands" "name, id, application, state, reason"
detail
is_seen "output is shown" "over TCP, the page shows no output" false
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
    is_seen matches "the page of another user shows no containers" "There are no containers."
    is_seen apps "the page of another user shows no applications" true
    is_seen decisions "the page of another user shows no decisions" 0
    is_seen "asked once" "the page of another user requests the decisions only once" 1
    is_seen error "the page of another user shows no error" ""
else
    skip "a page of another user shows no containers" "only root can be another user"
fi

# A page of another site in the same browser must not be able to send requests through the relay.
ask() { curl -sS --max-time 5 -o "$dir/answer" -w '%{http_code}' "$@" "http://127.0.0.1:$relay/v1/status"; }
is "nmd serves a request with the page's own Origin" "$(ask -H "Origin: http://127.0.0.1:$relay")" 200
is "nmd refuses a request with the Origin of another page" "$(ask -H 'Origin: http://evil.example')" 403
like "the refusal names the Origin of the other page" "$(jq -r .error.message "$dir/answer")" 'from a page of http://evil.example'
is "nmd refuses a request with the Host of another page" "$(ask -H 'Host: evil.example')" 421
is "another page can't start a container" "$(curl -sS --max-time 5 -o "$dir/answer" -w '%{http_code}' -H 'Origin: http://evil.example' \
    -H 'Content-Type: text/plain' --data-binary '{"command":["id"]}' "http://127.0.0.1:$relay/v1/containers")" 403

# The history is kept across a crash, and damaged entries are skipped.
ended() { api GET /v1/applications && jq -c '[.applications[] | [.app, .succeeded, .failed, .killed]]' <<<"$api_body"; }
points() { api GET '/v1/history?span_usec=86400000000' && jq '.points | length' <<<"$api_body"; }
oldest() { api GET '/v1/history?span_usec=7200000000' && jq '.points[0].time_usec' <<<"$api_body"; }
is "nmd counts the end of an application" "$(ended)" '[["application_1410901177871_0002",0,1,0]]'
at_least "the history of the day has an entry" "$(points)" 1
before=$(oldest)
nmd_kill
nmd_start || exit 1
is "the end of the application is known after a crash of nmd" "$(ended)" '[["application_1410901177871_0002",0,1,0]]'
is "the history is known after a crash of nmd" "$(oldest)" "$before"
nmd_stop
printf x | dd of="$dir/state/ended-applications" bs=1 seek=50 conv=notrunc status=none
head -c 700000 /dev/zero | tr '\0' x >"$dir/state/history"
nmd_start || exit 1
is "a damaged entry about an ended application is skipped" "$(ended)" '[]'
starts_later() { local first; first=$(oldest); [ "$first" != null ] && [ "$first" -gt "$before" ]; } # the first sample may be missing yet
check "a damaged history starts again" wait_until 20 starts_later

if [ -n "${NMD_TEST_KEEP:-}" ]; then
    mkdir -p "$NMD_TEST_KEEP"
    cp "$dir"/*.png "$NMD_TEST_KEEP"
fi
check "nmd keeps running" nmd_alive
done_testing
