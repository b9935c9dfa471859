#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# Permissions on the socket, and users of containers: tested for root, members of the admin group, the owner of a container, and
# other users. No accounts are needed for the UIDs here. tests/vm/suites/15-security.sh tests the same with real users.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "only root can send requests as other users"
make_shared_dir
export NMD_SOCKET=$shared/nmd.sock
node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[interface]
socket-mode = 0666
admin-group = games
[containers]
banned-users = 54325
END
nmd_start || exit 1
games=$(getent group games | cut -d: -f3)

while IFS= read -r line; do
    case $line in
        'ok - '*) ok "${line#ok - }" ;;
        'not ok - '*) not_ok "${line#not ok - }" ;;
        *) diag "$line" ;;
    esac
done < <("$(dirname "$0")/rights.py" "$NMD_SOCKET" "$games" 2>&1)
at_least "all combinations of routes and users were tested" "$tap_count" 110

# ---- the user of a container ---------------------------------------------------------------------

ask_as() { # prints the response and its status
    local command=${4:-\"true\"}
    setpriv --reuid "${1%%:*}" --regid "${1%%:*}" "--${1#*:}" \
        curl -sS --max-time 20 --unix-socket "$NMD_SOCKET" -w '%{http_code}' -H 'Content-Type: application/json' \
        --data-binary '{"command":['"$command"'],"vcores":0.001,"memory_bytes":'"${3:-1048576}$2"'}' http://nmd/v1/containers
}
row() { # NAME WHO USER WANTED: checks the response when WHO requests a container for USER
    local answer
    answer=$(ask_as "$2" "${3:+,\"user\":\"$3\"}")
    like "$1" "${answer: -3} $(jq -r '.user // .error.message' <<<"${answer%???}")" "^$4"
}
root=0:clear-groups member=54323:groups=$games owner=54321:clear-groups
row "root must name a user" $root "" '400 No user is named.*uid 0.*min-uid = 1000.*"user":"root"'
is "the error's code and thing name the missing user" "$(ask_as $root "" | jq -rs '.[0].error | .code + " " + .thing')" "invalid user"
row "root must not give an empty name" $root '","name":"x' '400 No user is named'
row "root can name root" $root root "201 root"
row "root can give root's number" $root 0 "201 root"
row "root can name a system user" $root daemon "201 daemon"
row "root can give a system user's number" $root 1 "201 daemon"
row "root can name an ordinary user" $root nobody "201 nobody"
row "root must not name an unknown user" $root no-such-user "400 There is no user 'no-such-user'"
row "a member of the group can run as itself" "$member" "" "201 54323"
row "a member can name an ordinary user" "$member" nobody "201 nobody"
row "a member can give an ordinary user's number" "$member" 65534 "201 nobody"
row "a member must not name root" "$member" root "403 No container runs as root: .*min-uid = 1000.*Only root"
row "a member must not give root's number" "$member" 0 "403 No container runs as root: .*min-uid = 1000"
row "a member must not name a system user" "$member" daemon "403 No container runs as daemon: .*min-uid"
row "a member must not give a system user's number" "$member" 1 "403 No container runs as daemon: .*min-uid"
row "a user can run as itself" $owner "" "201 54321"
row "a user must not name another user" $owner nobody "403 You \(uid 54321\) may run containers as yourself only"
row "a user must not give another user's number" $owner 65534 "403 You .* as yourself only"
row "a user must not name root" $owner root "403 You .* as yourself only"
row "a user must not give root's number" $owner 0 "403 You .* as yourself only"
row "a system user must not run as itself" 1:clear-groups "" "403 No container runs as daemon: .*min-uid"
row "a system user in the group must not run as itself" "1:groups=$games" "" "403 No container runs as daemon: .*min-uid"
row "a number that overflows is refused" $root 4294967296 "400 There is no user"
row "a negative number is refused" $root -1 "400 There is no user"
row "a number with other characters is refused" $root '0\n' "400 There is no user"
row "a user banned by number must not run as itself" 54325:clear-groups "" "403 .*banned-users"

# The rules at the time of the start apply, and not the rules at the time of the request.
fill=$(nmctl run --detach -m 900M -c 0.1 sleep 100)
ask_as 65534:clear-groups ',"name":"waits","execution_type":"OPPORTUNISTIC"' 900000000 >/dev/null
is "a container of an allowed user waits in the queue" "$(state_of waits)" SCHEDULED
reconfigure containers banned-users nobody
row "a banned user must not run as itself" 65534:clear-groups "" "403 No container runs as nobody: .*banned-users.*Only root"
row "a member must not name a banned user" "$member" nobody "403 No container runs as nobody: .*banned-users"
row "a member must not give a banned user's number" "$member" 65534 "403 No container runs as nobody: .*banned-users"
row "root can name a banned user" $root nobody "201 nobody"
nmctl kill --now --wait "$fill" >/dev/null
wait_until 10 in_state waits COMPLETED
is "a queued container never starts if its user is banned in the meantime" "$(field_of waits '"\(.exit_reason) \(.pid)"')" "bad-user null"
like "the container's record says that its user is banned" "$(field_of waits .message)" "nobody.*banned-users"

# ---- the reason of a kill, without data about other users' containers ----------------------------------------

hog_of() { # UID NAME
    ask_as "$1:clear-groups" ',"execution_type":"OPPORTUNISTIC","name":"'"$2"'"' 62914560 \
        '"/usr/bin/python3","-c","x=bytearray(40<<20);import time;time.sleep(1000)"' >/dev/null
    wait_until 10 uses "$2" 40
}
hog_of 54321 spared
hog_of 54322 taken
settled spared taken || wait_until 10 settled spared taken
spared=$(field_of spared .id) taken=$(field_of taken .id)
node_memory 970
wait_until 20 in_state taken COMPLETED
node_memory 0
why() { # UID
    setpriv --reuid "$1" --regid "$1" --clear-groups curl -sS --unix-socket "$NMD_SOCKET" \
        "http://nmd/v1/containers/$taken/decisions"
}
like "an administrator sees all candidates in the decision record of a kill" "$(why 0)" "$spared"
like "the owner of the killed container sees the decision record of the kill" "$(why 54322)" '"kind":"kill"'
is "the owner of the killed container sees no containers of other users in the record" "$(why 54322 | grep -c "$spared\|spared")" 0
nmctl kill --now --wait "$spared" >/dev/null 2>&1
done_testing
