#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# Confinement as seen from inside a container. Also paths that users pass or manipulate: links, pipes, directories of other
# users, and renames at the time of use.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "only root can run containers as other users"
make_shared_dir
export NMD_SOCKET=$shared/run/nmd.sock
node_proc_start
settings() { # LINE...
    printf '%s\n' "[node]" "memory = 1000M" "[interface]" "socket-mode = 0666" "[preemption]" "kill-grace = 200ms" "[containers]" "$@"
}
settings | nmd_configure
export LEAKED_BY_NMD=yes
exec 7</dev/null # an open descriptor that nmd inherits and must not pass on to containers
nmd_start --state-dir "$shared/state" --runtime-dir "$shared/run" || exit 1
exec 7<&-
nobody=(-u nobody -m 16M -c 0.1)

# ---- from inside ---------------------------------------------------------------------------------------------

relay() { # LINES of inside.py
    local line end=
    while IFS= read -r line; do
        case $line in
            'ok - '*) ok "$1: ${line#ok - }" ;;
            'not ok - '*) not_ok "$1: ${line#not ok - }" ;;
            '1..0 the end') end=yes ;;
            *) diag "$line" ;;
        esac
    done <<<"$2"
    is "$1: the program that checks the confinement runs to its end" "$end" yes
}

cp /usr/bin/id "$shared/setuid-id" && chmod 4755 "$shared/setuid-id"
secret=$(submit other -u root -m 16M -c 0.1 -- sh -c 'echo a secret; exec sleep 1000' && echo "$id")
id=$secret
wait_until 10 in_state other RUNNING
is "users that may use the socket can enter the runtime directory" \
    "$(stat -c %a "$shared/run" "$NMD_SOCKET" | paste -sd' ')" "755 666"
like "nmd responds to an ordinary user" "$(setpriv --reuid 65534 --regid "$(id -g nobody)" --clear-groups \
    curl -sS --max-time 20 --unix-socket "$NMD_SOCKET" http://nmd/v1/containers)" '^\[\]'
is "only nmd can read the state directory" "$(stat -c '%U %a' "$shared/state")" "root 700"
setpriv --reuid 65534 --regid "$(id -g nobody)" --clear-groups sleep 1000 &
outside=$!
at_exit 'kill $outside'
for path in /run/user /run/dbus /run/user/65534; do
    mkdir -m 755 $path 2>/dev/null && at_exit "rmdir $path"
done
check "a user can read the user's own process outside a container" wait_until 5 \
    setpriv --reuid 65534 --regid "$(id -g nobody)" --clear-groups ls "/proc/$outside/root/"
resource=no
setpriv --dump | grep -q '^Capability bounding set:.*sys_resource' && resource=yes
inside() { # RUN-OPTION...: prints the TAP lines of inside.py; $score is the expected oom_score_adj
    nmctl run "${nobody[@]}" "$@" -- /usr/bin/python3 -c "$(cat "$here/../vm/data/inside.py")" \
        "nmd=$nmd_pid" "outside=$outside" "socket=$NMD_SOCKET" \
        "groups=$(id -G nobody | tr ' ' ,)" cwd=/ "score=$score" "resource=$resource" \
        "cgroup=$(nmd_cgroup_root)" "setuid=$shared/setuid-id" \
        ${closed:+"reach=$shared/state/"} "reach=$shared/state/nmd.db" "reach=$shared/state/nmd.db-wal" \
        "reach=$shared/state/logs/" "reach=$shared/state/logs/$secret/" "reach=$shared/state/logs/$secret/stdout" \
        "reach=$shared/state/containers/" "reach=$shared/state/containers/$secret/record" \
        "reach=$shared/state/containers/$secret/container.json" "reach=$dir/nmd.log" 2>&1
}
closed=yes score=0
relay guaranteed "$(inside)"
# Containers can't read the state directory even if an operator has made it readable.
chmod 755 "$shared/state"
closed='' score=1000
relay opportunistic "$(inside --opportunistic)"
is "the log of another container is readable on the host" "$(cat "$shared/state/logs/$secret/stdout")" "a secret"
chmod 700 "$shared/state"

# Mounts that the host makes after nmd's start appear in containers.
submit mounted "${nobody[@]}" -- sh -c "while ! test -e $shared/mount/there; do sleep .05; done"
wait_until 10 in_state mounted RUNNING
mkdir -p "$shared/mount"
if findmnt -no PROPAGATION / | grep -q shared; then
    mount -t tmpfs none "$shared/mount" && touch "$shared/mount/there"
    check "a mount that the host makes later is visible in a container" wait_until 10 in_state mounted COMPLETED
    umount "$shared/mount"
fi
nmctl kill --now --wait mounted >/dev/null 2>&1
reconfigure containers confine no
is "with confine = no, containers run in the host's user namespace" \
    "$(nmctl run "${nobody[@]}" -- readlink /proc/self/ns/user)" "$(readlink /proc/self/ns/user)"
is "with confine = no, the bounding set of containers is empty" \
    "$(nmctl run "${nobody[@]}" -- sh -c 'grep CapBnd: /proc/self/status | cut -f2')" 0000000000000000
reconfigure containers confine yes
is "containers of root run in the host's user namespace" "$(nmctl run -u root -m 16M -c 0.1 -- readlink /proc/self/ns/user)" \
    "$(readlink /proc/self/ns/user)"
is "nmctl run --allow-new-privs clears no_new_privs" \
    "$(nmctl run "${nobody[@]}" --allow-new-privs -- sh -c 'grep -h NoNewPrivs /proc/self/status | tr -d "\t"')" \
    "NoNewPrivs:0"
grep -qs nosuid <<<"$(findmnt -no OPTIONS -T "$shared")" ||
    is "with --allow-new-privs, a set-user-ID program runs as its owner" \
        "$(nmctl run "${nobody[@]}" --allow-new-privs -- "$shared/setuid-id" -u)" 0
is "nmctl run -e adds variables to the container's environment" \
    "$(nmctl run "${nobody[@]}" -e A=1 -e HOME=/tmp -- env | grep -v '^_=' | sort | paste -sd' ')" \
    "A=1 HOME=/tmp LOGNAME=nobody PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin SHELL=/usr/sbin/nologin USER=nobody"

# A frozen container stays frozen, even if its user tries to continue it from outside.
submit victim "${nobody[@]}" -- sleep 1000
wait_until 10 in_state victim RUNNING
nmctl pause victim >/dev/null
wait_until 10 frozen victim
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
as_nobody kill -CONT "$(field_of victim .pid)"
check "SIGCONT from the container's user does not thaw a paused container" frozen victim
nmctl kill --now --wait victim >/dev/null

# ---- working directories -----------------------------------------------------------------------------------

mkdir -m 755 "$shared/public"
mkdir -m 700 "$shared/private"
install -d -o nobody "$shared/nobody"
ln -s "$shared/public" "$shared/nobody/good"
ln -s "$shared/private" "$shared/nobody/bad"
ln -s loop "$shared/nobody/loop"
touch "$shared/public/file"
mkfifo -m 666 "$shared/public/pipe"
workdir() { # NAME PATH WANTED: checks that the directory is used, or why it is not used
    local name=$1 path=$2 wanted=$3
    try timeout 20 "$NMCTL" run "${nobody[@]}" -d "$path" -- pwd -P
    like "working directory: $name" "$out $err" "$wanted"
}
workdir "a public directory is used" "$shared/public" "^$shared/public $"
workdir "a directory behind the user's own link is used" "$shared/nobody/good" "^$shared/public $"
workdir "a path with .. is used" "$shared/nobody/../public" "^$shared/public $"
workdir "a directory of another user is refused" "$shared/private" "working directory $shared/private: Permission denied"
workdir "a directory of another user behind a link is refused" "$shared/nobody/bad" "Permission denied"
workdir "a directory in the state directory is refused" "$shared/state/logs" "Permission denied"
workdir "a path through nmd's working directory is refused" "/proc/$nmd_pid/cwd" "Permission denied|symbolic links"
workdir "a path through the shim's root is refused" "/proc/self/root$shared/public" "symbolic links"
workdir "a path through a descriptor is refused" /proc/self/fd/3 "symbolic links|No such file|Not a directory"
workdir "a link to itself is refused" "$shared/nobody/loop" "symbolic links"
workdir "a file" "$shared/public/file" "Not a directory"
workdir "a pipe" "$shared/public/pipe" "Not a directory"
workdir "a directory that does not exist is refused" "$shared/none" "No such file"
api POST /v1/containers '{"command":["true"],"workdir":"public"}'
is "working directory: a relative path is refused over HTTP" "$api_status $(jq -r .error.thing <<<"$api_body")" "400 workdir"
workdir "a path that goes above the root is used" "$shared/../../../../../../..$shared/public" "^$shared/public $"
is "the working directory is opened with the user's rights, and not with root's" \
    "$(nmctl run "${nobody[@]}" -- cat "$shared/private/../state/nmd.db" 2>&1 | tail -n 1)" \
    "cat: $shared/private/../state/nmd.db: Permission denied"
try nmctl run "${nobody[@]}" -- "$shared/private/command"
like "a command in a directory of another user does not run" "$err" "permission denied"

# ---- manipulated log files, as only root can make them: nmd opens only files that nmd has created ---------------

next_id() { # prints the id of the next container
    local number=${secret##*_} n
    n=$(nmctl list --all --json | jq 'length')
    printf '%s_%06d' "${secret%_*}" $((10#$number + n))
}
echo victim >"$shared/victim"
chmod 600 "$shared/victim"
logs=$shared/state/logs
trap_for() { # NAME COMMAND...: runs the command with $1 = the log directory of the next container, and starts a container
    local name=$1 next
    next=$(next_id)
    bash -c "$2" _ "$logs/$next" "$shared/victim"
    try timeout 20 "$NMCTL" run "${nobody[@]}" -- sh -c 'echo written; echo written >&2'
    is "log: $name: nmd does not use it" "$status" 125
    is "log: $name: the container ends as launch-failed" "$(nmctl show --json "$next" | jq -r '.exit_reason')" launch-failed
    is "log: $name: the other file is unchanged" "$(stat -c '%U %a' "$shared/victim") $(cat "$shared/victim")" "root 600 victim"
}
trap_for "a link to another file" 'mkdir -m 700 "$1"; ln -s "$2" "$1/stdout"'
trap_for "another file" 'mkdir -m 700 "$1"; ln "$2" "$1/stderr"'
rm "$logs"/*/stderr -f
trap_for "a pipe" 'mkdir -m 700 "$1"; mkfifo "$1/stdout"'
trap_for "a directory" 'mkdir -m 700 -p "$1/stdout"'
trap_for "a directory of the user" 'install -d -o nobody -m 700 "$1"'
trap_for "a directory that all users can write" 'mkdir "$1"; chmod 777 "$1"'
mkdir -m 700 "$shared/elsewhere"
trap_for "a link to a directory" 'ln -s "${2%/*}/elsewhere" "$1"'
is "log: no file is written to the linked directory" "$(ls "$shared/elsewhere")" ""

read_log() { # NAME: checks that a log of this kind can't be read
    api GET /v1/containers/logged/logs
    is "a log that is $1 can't be read" "$api_status $(jq -r .error.thing <<<"$api_body" 2>/dev/null)" "409 stream"
    check "reading a log that is $1 prints no data of the other file" bash -c "! grep -q victim $dir/api.body"
}
submit logged "${nobody[@]}" -- echo fine
wait_until 10 in_state logged COMPLETED
is "an ordinary log can be read" "$(nmctl logs logged)" fine
mine=$logs/$id
mv "$mine/stdout" "$shared/kept"
ln -s "$shared/victim" "$mine/stdout" && read_log "a link"
ln -sfn ../../nmd.db "$mine/stdout" && read_log "a relative link"
rm "$mine/stdout" && mkfifo "$mine/stdout" && read_log "a pipe"
rm "$mine/stdout" && mkdir "$mine/stdout" && read_log "a directory"
rmdir "$mine/stdout"
try nmctl logs logged
is "a missing log reads as empty" "$status $out" "0 "
mkdir "$shared/evil" && cp "$shared/victim" "$shared/evil/stdout"
mv "$mine" "$shared/real"
cp "$shared/kept" "$shared/real/stdout"
ln -s "$shared/evil" "$mine" && read_log "a link in the directory's place"
ln -sfn "$secret" "$mine" && read_log "a link to another container's directory"
rm "$mine"
cat >"$dir/race.py" <<'PY'
import os, sys, time
mine, real, evil = sys.argv[1:]
link = mine + ".link"
end = time.monotonic() + 2
while time.monotonic() < end:
    os.rename(real, mine)
    os.rename(mine, real)
    os.symlink(evil, link)
    os.rename(link, mine)
    os.unlink(mine)
PY
/usr/bin/python3 "$dir/race.py" "$mine" "$shared/real" "$shared/evil" &
race=$!
seen=
while kill -0 "$race" 2>/dev/null; do
    api GET /v1/containers/logged/logs
    case $api_status-$api_body in
        200-fine) seen+=f ;;
        200- | 409-*) seen+=r ;;
        *) seen+="[$api_status $api_body]" ;;
    esac
done
wait "$race"
like "while a directory and a link are exchanged, reading prints the log or fails" "$seen" '^[fr]+$'
mv "$shared/real" "$mine"

# nmd removes the directory of a removed container, but not the targets of symbolic links in the directory.
mkdir "$shared/evil/deep" && touch "$shared/evil/deep/file"
ln -s "$shared/evil" "$mine/link"
printf '[containers]\nkeep-ended = 0s\n' >>"$nmd_conf.d/50-suite.conf"
nmctl config --reload >/dev/null
nmctl run "${nobody[@]}" -- true
check "the directory of a removed container is removed" wait_until 70 test ! -e "$mine"
is "the targets of symbolic links in that directory are not removed" "$(find "$shared/evil" -type f | wc -l)" 2

# ---- directories that nmd does not own -----------------------------------------------------------------------------

nmctl kill --now --wait other >/dev/null
nmd_stop
mkdir -m 700 "$shared/shut"
"$NMD" --config "$nmd_conf" --backend direct --slice "$slice" --runtime-dir "$shared/shut" --state-dir "$shared/state" \
    >>"$dir/nmd.log" 2>&1 &
nmd_pid=$!
check "nmd's log reports a directory that prevents users from reaching the socket" \
    wait_until 20 grep -q "can't reach the socket because of $shared/shut (mode 0700)" "$dir/nmd.log"
nmd_stop
refused() { # NAME WORDS OPTION...
    local name=$1 words=$2
    shift 2
    try timeout 10 "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --backend direct --slice "$slice" \
        --runtime-dir "$shared/run" --state-dir "$shared/state" "$@"
    is "nmd refuses to start with $name" "$status" 1
    like "nmd refuses to start with $name: the error gives the reason" "$err" "$words"
}
mkdir -m 777 "$shared/open"
chmod 1777 "$shared/open"
refused "a state directory that all users can write" "state directory $shared/open.*other users may write" --state-dir "$shared/open"
refused "a state directory of another user" "state directory $shared/nobody belongs" --state-dir "$shared/nobody"
settings "[paths]" "log-dir = $shared/nobody" | nmd_configure
refused "a log directory of another user" "log directory $shared/nobody belongs"
settings "[paths]" "log-dir = $shared/open" | nmd_configure
refused "a log directory that all users can write" "log directory $shared/open.*other users may write"

# ---- without confinement -------------------------------------------------------------------------------------------

# In a chroot the kernel refuses to create user namespaces. The chroot has the same directories.
settings | nmd_configure
mkdir "$shared/root"
cat >"$shared/in-chroot" <<END
#!/bin/sh
exec unshare --mount sh -c 'mount --rbind / "$shared/root" && exec chroot "$shared/root" "\$@"' sh "$NMD" "\$@"
END
chmod 755 "$shared/in-chroot"
: >"$dir/nmd.log"
NMD=$shared/in-chroot nmd_start --state-dir "$shared/state" --runtime-dir "$shared/run" || exit 1
why="confine: containers have no namespaces of their own, because the kernel refuses user namespaces to nmd, as it does in a chroot"
check "if namespaces can't be created, nmd's log says so at the start" grep -q "$why" "$dir/nmd.log"
like "if namespaces can't be created, status says so and names the consequence" "$(nmctl status --json | jq -r '.node.notes[]')" \
    "$why; a user's service manager .*outside of their limits"
is "if namespaces can't be created, containers run without them" "$(nmctl run "${nobody[@]}" -- id -un)" nobody
printf '[containers]\nconfine = no\n' >>"$nmd_conf.d/50-suite.conf"
nmctl config --reload >/dev/null
is "if confinement is switched off, status does not report missing namespaces" \
    "$(nmctl status --json | jq -r '.node.notes[]' | grep -c "^confine")" 0
done_testing
