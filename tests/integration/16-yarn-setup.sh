#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# One command (nmd --setup-yarn) makes a host a node of a YARN cluster, prints its changes, and can revert them. The suite runs
# it in a directory that stands for the host's root, with a ResourceManager's port on loopback.

# As root, the suite runs in its own network namespace. The name node is unreachable in it, so that no check waits for the name
# node's answer.
if [ -z "${NMD_SETUP_APART:-}" ] && unshare --net true 2>/dev/null; then
    NMD_SETUP_APART=1 exec unshare --net bash "$0"
fi
[ -z "${NMD_SETUP_APART:-}" ] || python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))' # brings lo up
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

# No host has a path with the name of the suite's directory, so nmd reports that the path doesn't exist.
conf=$dir/conf
root=$dir/root
unit=/etc/systemd/system/nmd.service.d/50-yarn.conf
config=/etc/nmd/nmd.conf.d/50-yarn.conf
manifest=/var/lib/nmd/yarn-setup
as_root=$(id -u)
top=$(cd "$here/../.." && pwd)

# shellcheck disable=SC2034 # rm_pid: for at_exit
rm_listen() { # a fake ResourceManager that accepts connections
    python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(120)' >"$dir/rm.port" &
    rm_pid=$!
    at_exit 'kill "$rm_pid" 2>/dev/null'
    wait_until 10 test -s "$dir/rm.port"
}
site() { # NAME VALUE...: writes the cluster's configuration file
    {
        echo '<configuration>'
        printf '<property><name>%s</name><value>%s</value></property>\n' "$@"
        echo '</configuration>'
    } >"$root$conf/yarn-site.xml"
}
tree() { # lists all files with their owners, modes and contents
    (cd "$root" && find . -printf '%p %y %m %U:%G %l\n' | sort && find . -type f -exec sha256sum {} + | sort)
}
setup() { # OPTION...: runs the setup, and sets $out, $err and $status
    try timeout 20 env -u JAVA_HOME -u HADOOP_HOME "$NMD" --yarn-setup "$conf" --root "$root" \
        --config /etc/nmd/nmd.conf --state-dir /var/lib/nmd "$@"
}

mkdir -p "$root$conf" "$root"/etc/{nmd,systemd/system} "$root/run/systemd/system"
mkdir -p "$root"/data/{1,2}/yarn "$root"/usr/lib/jvm/java-17/bin "$root/srv/hadoop/bin"
chmod 2775 "$root/data/1/yarn"
[ "$as_root" != 0 ] || chown 12345:23456 "$root/data/1/yarn"
printf '#!/bin/sh\n' | tee "$root/usr/lib/jvm/java-17/bin/java" >"$root/srv/hadoop/bin/hadoop"
chmod 755 "$root"/usr/lib/jvm/java-17/bin/java "$root/srv/hadoop/bin/hadoop"
echo 'JAVA_VERSION="17.0.9"' >"$root/usr/lib/jvm/java-17/release"
echo 'export HADOOP_HOME=/srv/hadoop' >"$root$conf/hadoop-env.sh"
printf 'nameserver 192.0.2.53\nnameserver 127.0.0.53\n' >"$root/etc/resolv.conf"
rm_listen
closed=$(free_port)
site yarn.resourcemanager.ha.enabled true yarn.resourcemanager.ha.rm-ids a,b \
    yarn.resourcemanager.resource-tracker.address.a "127.0.0.1:$closed" \
    yarn.resourcemanager.resource-tracker.address.b "127.0.0.1:$(cat "$dir/rm.port")" \
    dfs.namenode.http-address 192.0.2.9:9870 fs.defaultFS hdfs://192.0.2.9:8020 \
    yarn.nodemanager.local-dirs /data/1/yarn,/data/2/yarn/local,/usr/local/hadoop/tmp \
    yarn.nodemanager.log-dirs /data/1/logs
before=$(tree)

# ---- dry run and setup ---------------------------------------------------------------------------

echo 'export JAVA_HOME=$BASE/jdk8' >"$root$conf/yarn-env.sh"
setup --dry-run
like "the setup reports a Java that only a login shell finds" "$(tr -s '\n ' ' ' <<<"$out")" \
    "yarn-env.sh sets JAVA_HOME in a way that nmd can't interpret .*The unit gets /usr/lib/jvm/java-17: .* --java-home DIR"
rm "$root$conf/yarn-env.sh"
setup --dry-run --allow 198.51.100.0/24
is "the dry run of the setup succeeds" "$status" 0
like "the dry run says that it is a dry run" "$err" "nothing was changed"
is "the dry run changes no file" "$(tree)" "$before"
dry=$out
setup --allow 198.51.100.0/24
is "the setup succeeds" "$status $(grep -v "waiting for an answer" <<<"$err")" "0 "
as_done() { # turns the future tense of the dry run into the words of the real run
    sed -E 's|^  make    /|  made    /|; s|^  change  /|  changed /|; s|^  leave   /|  left    /|; s|^  keep    /|  kept    /|
        s|^  remove   /|  removed  /|; s|^  restore  /|  restored /|; s|^  leave    /|  left     /|
        s|^Then stop |The setup is done. Now stop |'
}
is "the setup reports the changes that the dry run announced" "$out" "$(as_done <<<"$dry")"
like "the setup says that it is complete, and names the next steps" "$(tail -n 2 <<<"$out" | tr '\n' ' ')" \
    "^The setup is done\. Now stop Hadoop's NodeManager on this host, and run   systemctl daemon-reload && "
like "the setup reports that a ResourceManager answers" "$out" "ResourceManager 127.0.0.1:$(cat "$dir/rm.port") .*answers at 127.0.0.1"
like "the setup reports that the second ResourceManager may be on standby" "$out" \
    "127.0.0.1:$closed .*no program listens on this port, which is normal for a standby ResourceManager"
like "the setup checks that the name node can be reached" "$out" "name node 192.0.2.9:9870 .*can't be reached"
like "the setup finds Java and names it" "$out" "Java 17.0.9: /usr/lib/jvm/java-17 "
like "the setup finds Hadoop and names it" "$out" "Hadoop: /srv/hadoop \(hadoop-env.sh\)"
like "the setup gives a reason for each address that it allows" "$(tr -s '\n ' ' ' <<<"$out")" \
    "# a name node: 192.0.2.9 IPAddressAllow=192.0.2.9 # a name server IPAddressAllow=192.0.2.53 # from --allow IPAddressAllow=198.51"
for line in IPAddressAllow=192.0.2.9 IPAddressAllow=192.0.2.53 IPAddressAllow=198.51.100.0/24 \
    Environment=JAVA_HOME=/usr/lib/jvm/java-17 Environment=HADOOP_COMMON_HOME=/srv/hadoop "Environment=HADOOP_CONF_DIR=$conf" \
    ReadWritePaths=-/usr/local/hadoop/tmp; do
    check "the drop-in of nmd's unit has $line" grep -qxF "$line" "$root$unit"
done
is "the drop-in does not repeat an address that the unit already allows" "$(grep -c 'Allow=127' "$root$unit")" 0
like "the written configuration makes the host a YARN node" "$(cat "$root$config")" "^enabled = yes"
owner=$(id -u):$(id -g)
is "a directory of Hadoop's user now belongs to root" "$(stat -c '%a %u:%g' "$root/data/1/yarn")" "755 $owner"
is "the setup creates missing directories" \
    "$(stat -c '%a %u:%g' "$root"/data/{1/logs,2/yarn/local} "$root/usr/local/hadoop/tmp" | sort -u)" "755 $owner"
for words in "limit-users is true" "max-queue-length is 0" "use-pause-for-preemption is false" "the host has a firewall" \
    "systemctl daemon-reload" "$conf --undo"; do
    like "the setup names a remaining task: $words" "$out" "$words"
done

# runs the next command that the setup has printed, with this suite's paths
$(type -P sh) -c "$(sed -n 's/.*daemon-reload && \(nmd --check-config .*\) && systemctl.*/\1/p' <<<"$out" |
    sed "s|^nmd|timeout 10 '$NMD'|")" >"$dir/printed" 2>&1
like "the setup suggests a command that checks this setup" "$(cat "$dir/printed")" "max-queue-length is 0"
like "the setup suggests a command that undoes this setup" \
    "$out" "$conf --undo --root $root( --config /etc/nmd/nmd.conf)?( --state-dir /var/lib/nmd)?\$"

# nmd reads the new configuration. It does not find the cluster's files, because they exist only below $root.
try timeout 10 "$NMD" --check-config --config "$root/etc/nmd/nmd.conf" --state-dir "$dir/state" --runtime-dir "$dir/run"
like "nmd uses the configuration that the setup has written" "$err" "$conf"

# ---- a second setup -------------------------------------------------------------------------------

after=$(tree)
setup --allow 198.51.100.0/24
is "a second setup succeeds" "$status" 0
is "a second setup changes no file" "$(tree)" "$after"
is "a second setup announces no changes" "$(grep -cE '^  (make|made|change|changed|leave|left) ' <<<"$out")" 0
setup
is "a second setup without --network writes the drop-in again" "$status $(grep -c 198.51.100 "$root$unit")" "0 0"
like "a setup without --network suggests --network" "$out" "--allow ADDRESS/BITS"

# ---- servers that don't answer ---------------------------------------------------------------------

if [ -n "${NMD_SETUP_APART:-}" ]; then
    python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
print("ready", flush=True)
time.sleep(60)' >"$dir/dns.ready" &
    # shellcheck disable=SC2034 # for at_exit
    dns_pid=$!
    at_exit 'kill "$dns_pid" 2>/dev/null'
    wait_until 10 test -s "$dir/dns.ready"
    printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:3\n' >"$dir/resolv.conf"
    cp "$root$conf/yarn-site.xml" "$dir/yarn-site.xml"
    site yarn.resourcemanager.ha.enabled true yarn.resourcemanager.ha.rm-ids a,b,c,d yarn.resourcemanager.hostname.a rm1.example \
        yarn.resourcemanager.hostname.b rm2.example yarn.resourcemanager.hostname.c rm3.example \
        yarn.resourcemanager.hostname.d rm4.example yarn.nodemanager.local-dirs /data/1/yarn
    began=$(date +%s)
    # shellcheck disable=SC2016 # the inner shell's
    try timeout 20 unshare --mount sh -c 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"' sh "$dir/resolv.conf" \
        env -u JAVA_HOME -u HADOOP_HOME "$NMD" --yarn-setup "$conf" --root "$root" --dry-run
    took=$(($(date +%s) - began))
    like "with a name server that doesn't answer, the setup reports the host names as unknown" \
        "$out" "ResourceManager rm4.example:8031: its name can't be resolved"
    check "the setup looks up all host names at the same time ($took s)" test "$took" -lt 8
    like "the setup reports that it waits for the name server" "$err" "resolving the name rm1.example; 0 of [0-9]+ names are done"
    is "the message about the wait for the name server goes to stderr" "$(grep -c 'resolving the name' <<<"$out")" 0
    cp "$dir/yarn-site.xml" "$root$conf/yarn-site.xml"
fi

# ---- missing parts of the host --------------------------------------------------------------------

checked() { # runs --check-config for the host whose root is DIR
    try timeout 20 "$NMD" --check-config --root "$root" --yarn-conf "$root$conf" --config "$dir/nmd.conf" \
        --state-dir "$dir/state" --runtime-dir "$dir/run" --slice "$slice" --backend direct
}
nmd_configure </dev/null
checked
is "--check-config does not mention hosts or Java when they are right" "$(grep -cE "doesn't permit nmd to connect|JAVA_HOME" <<<"$err")" 0
is "--check-config does not mention variables or directories when they are right" \
    "$(grep -cE "HADOOP_CONF_DIR|can't write|doesn't exist" <<<"$err")" 0
like "--check-config lists the decisions that the administrator still has to make" "$err" "max-queue-length is 0"
like "--check-config reports a name node that can't be reached" "$err" "name node 192.0.2.9:9870: can't be reached"
sed -i '/192.0.2.9/d; /JAVA_HOME/d' "$root$unit"
changed=$(tree)
checked
like "the command that --check-config suggests can be run" \
    "$(tr -s '\n ' ' ' <<<"$err")" "nmd --yarn-setup $conf --root $root --allow ADDRESS/BITS"
like "--check-config reports an address that the unit doesn't allow" "$err" "doesn't permit nmd to connect to the name node 192.0.2.9"
like "--check-config reports a missing Java" "$err" "JAVA_HOME isn't set.*/usr/lib/jvm/java-17"
printf '[Service]\nIPAddressAllow=192.0.2.0/24\nEnvironment=JAVA_HOME=/x\n' >"$root${unit%/*}/90-mine.conf"
checked
is "--check-config accepts an address and a Java that another drop-in sets" \
    "$(grep -cE "doesn't permit nmd to connect|JAVA_HOME" <<<"$err")" 0
rm "$root${unit%/*}/90-mine.conf"
printf '[Service]\nEnvironment=\nReadWritePaths=\n' >"$root${unit%/*}/90-mine.conf"
rmdir "$root/data/1/logs"
checked
like "--check-config reports missing environment variables of Hadoop" "$err" "no drop-in of nmd.service has Environment=.*HADOOP_CONF_DIR="
like "--check-config reports a directory below /usr that nmd can't write to" "$err" "can't write to the directory /usr/local/hadoop/tmp"
like "--check-config reports a missing directory" "$err" "the directory /data/1/logs doesn't exist"
rm "$root${unit%/*}/90-mine.conf"
mkdir -m 755 "$root/data/1/logs"
is "--check-config changes no file" "$(tree)" "$changed"

# ---- paths that can't be written ---------------------------------------------------------------------

frozen() { # DIR OPTION...: runs the setup with DIR on a read-only file system
    local at=$root$1
    shift
    # shellcheck disable=SC2016 # the inner shell's
    try timeout 20 unshare --mount sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"' sh "$at" \
        env -u JAVA_HOME -u HADOOP_HOME "$NMD" --yarn-setup "$conf" --root "$root" --config /etc/nmd/nmd.conf --state-dir /var/lib/nmd "$@"
}
if [ -n "${NMD_SETUP_APART:-}" ]; then
    cp -a "$root" "$dir/saved"
    mv "$root$config" "$dir/config"
    for words in "" --undo; do
        [ -z "$words" ] || mv "$dir/config" "$root$config"
        for at in /etc/nmd /var/lib/nmd; do
            # shellcheck disable=SC2086 # no option, or one
            frozen "$at" $words --dry-run
            is "$at is read-only: a dry run ${words:+of the undo }fails with the reason" "$status" 1
            like "the error names the read-only path" "$err" \
                "(can't write ($root)?$at/|($root)?$at.* can't be (written|removed|changed)).*Read-only file system"
            like "the error says that no file was changed" "$err" "nothing was changed"
        done
    done
    rm "$root$config"
    frozen /etc/nmd
    is "the real run fails with the same error as the dry run" "$status" 1
    rm -r "$root"
    mv "$dir/saved" "$root"
fi

# ---- undo -------------------------------------------------------------------------------------------

setup
is "the undo does not remove a file that was edited after the setup" "$status" 1
like "the undo reports the edited file" "$out" "left    $unit: it was changed after the setup wrote it"
is "the edited file keeps its content" "$(tree)" "$changed"
setup --undo --dry-run
is "the dry run of the undo succeeds" "$status $(tree | sha256sum)" "1 $(sha256sum <<<"$changed")"
dry=$out
setup --undo
is "the undo reports the changes that its dry run announced" "$out" "$(as_done <<<"$dry" |
    sed 's|^If the node|The setup is undone, except for the paths that are left unchanged.\n\n&|')"
is "the undo's exit status says that a file remains" "$status" 1
like "the undo names the steps to take before and after it" "$(tr '\n' ' ' <<<"$out")" \
    'decommission the node .* stop nmd\.service .* NodeManager starts, run .* daemon-reload && systemctl restart nmd\.service'
like "the undo gives the reason why the edited file remains" "$out" "left     $unit: it was changed after the setup wrote it"
check "the edited file still exists" test -e "$root$unit"
check "the setup's list of changes still names the edited file" grep -qF "$unit" "$root$manifest"
is "the setup's list of changes names no change that was undone" "$(grep -cF "$config" "$root$manifest")" 0
rm "$root$unit"
setup --undo
is "the undo is complete when the edited file has been removed" "$status" 0
is "after the undo the host is as before the setup" "$(tree)" "$before"
check "the complete undo removes the setup's list of changes" test ! -e "$root$manifest"
setup
is "the setup can be repeated after an undo" "$status" 0
setup --undo
is "the repeated setup can be undone" "$status" 0
is "after the second undo the host is as before the setup" "$(tree)" "$before"
if [ "$as_root" = 0 ]; then
    setup
    mkdir "$root"/data/1/yarn/{usercache,nmPrivate} "$root/data/1/logs/application_1_1"
    touch "$root${config%/*}/.50-yarn.conf.new"
    setup --undo
    is "the undo leaves files of jobs in place" "$status" 1
    like "the undo names files of jobs in a directory whose owner it restores" "$(sort <<<"$out")" \
        "restored /data/1/yarn: .*still belong to root \((usercache, nmPrivate|nmPrivate, usercache)\): .*chown -R 12345:23456 /data/1/yarn"
    like "the undo names files of jobs in a directory that the setup created" \
        "$out" "left     /data/1/logs: it isn't empty \(application_1_1\)"
    is "the list of changes then names only the directory that the setup created" \
        "$(grep -cE '"/data/1/(yarn|logs)"' "$root$manifest") $(grep -c '/data/1/logs"' "$root$manifest")" "1 1"
    like "the undo removes files of an interrupted setup" "$out" "removed  ${config%/*}/.50-yarn.conf.new"
    rmdir "$root"/data/1/yarn/* "$root/data/1/logs/application_1_1"
    setup --undo
    is "the undo completes after the files of jobs are removed" "$status $(tree | sha256sum)" "0 $(sha256sum <<<"$before")"
    setup
    rmdir "$root/data/1/logs"
    mkdir "$root/data/1/logs"
    chown 55:55 "$root/data/1/logs"
    setup
    setup --undo
    is "the undo gives a directory that was created by another program back to its owner" \
        "$status $(stat -c %u:%g "$root/data/1/logs")" "0 55:55"
    rmdir "$root/data/1/logs"
    is "the undo leaves the rest of the host as before the setup" "$(tree)" "$before"
fi
wanted=$conf
for form in "$conf/" "/$conf" "$conf/." "${conf%/*}/./${conf##*/}//"; do
    conf=$form
    setup
    is "'${form#"${dir%/*}"}': forth" "$status" 0
    conf=$wanted
    setup --dry-run
    is "'${form#"${dir%/*}"}': it is the same directory" "$status $(grep -cE '^ *(make|change) ' <<<"$out")" '0 0'
    setup --undo
    is "'${form#"${dir%/*}"}': and back" "$status $(tree | sha256sum)" "0 $(sha256sum <<<"$before")"
done
conf=$wanted
setup --undo
like "another undo reports that no setup is left to undo" "$out" "No setup was found"

# ---- without systemd -----------------------------------------------------------------------------------

rmdir "$root/run/systemd/system"
setup --dry-run
is "without systemd no message of the setup suggests systemctl" "$status $(grep -c systemctl <<<"$out")" "0 0"
like "without systemd the setup suggests commands that exist" "$(tr -s '\n ' ' ' <<<"$out")" \
    "systemd doesn't run on this host\. .*: nmd --check-config --root .* Start nmd as a node on that host: JAVA_HOME=/usr/lib/jvm/java-17 "
is "the setup does not suggest to stop nmd when nmd is not running" "$(grep -c '^  kill' <<<"$out")" 0
$(type -P sh) -c "$(sed -n 's/^  \(nmd --check-config .*\)/\1/p' <<<"$out" | sed "s|^nmd|timeout 10 '$NMD'|")" >"$dir/printed" 2>&1
like "without systemd the suggested check names this setup" "$(cat "$dir/printed")" "max-queue-length is 0"
# shellcheck disable=SC2016 # the inner shell's
like "without systemd the suggested nmd command logs to a file" "$out" '^  JAVA_HOME=.* nmd.* 2>>/var/log/nmd\.log &$'
# shellcheck disable=SC2016 # the inner shell's
printed=$($(type -P sh) -c 'nmd() { echo "$JAVA_HOME $HADOOP_HOME $HADOOP_CONF_DIR $*"; }
'"$(grep '^  JAVA_HOME=' <<<"$out" | sed 's| 2>>[^ ]*||')"' wait')
like "nmd starts with the settings of the setup's drop-in" "$printed" \
    "^/usr/lib/jvm/java-17 /srv/hadoop $conf( --config /etc/nmd/nmd.conf)?( --state-dir /var/lib/nmd)?\$"
setup
python3 -c 'import fcntl, sys, time
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("ready", flush=True)
time.sleep(60)' "$root/var/lib/nmd/lock" >"$dir/lock.ready" &
# shellcheck disable=SC2034 # for at_exit
lock_pid=$!
at_exit 'kill "$lock_pid" 2>/dev/null'
wait_until 10 test -s "$dir/lock.ready"
setup
like "the setup suggests to stop a running nmd" "$(tr -s '\n ' ' ' <<<"$out")" "wait until it has exited: kill $lock_pid Start nmd"
setup --undo --dry-run
like "the undo suggests to stop a running nmd first" \
    "$(tr -s '\n ' ' ' <<<"$out")" "stop the running nmd: kill $lock_pid After the undo, .*start nmd again"
is "without systemd, the advice to stop nmd does not mention systemctl" "$(grep -c systemctl <<<"$out")" 0
kill "$lock_pid"
rm "$root/var/lib/nmd/lock"
setup --undo
mkdir "$root/run/systemd/system"
is "without systemd the undo leaves the host as before the setup" "$status $(tree | sha256sum)" "0 $(sha256sum <<<"$before")"

# ---- a purge of the package undoes the setup too --------------------------------------------------------------

purge() { # runs the purge as dpkg --root does, and sets $out, $err and $status
    try env DPKG_ROOT="$root" sh "$top/packaging/debian/nmd.postrm" purge
    mkdir -p "$root/etc/nmd"
}
kept() { # PATH REASON
    like "a purge names what it does not remove: $1" "$out" "nmd: $1, which nmd --yarn-setup has made or changed, stays: .*$2"
}
setup
touch "$root${config%/*}/.50-yarn.conf.new"
purge
is "a purge succeeds when the program nmd is missing" "$status $err" "0 "
is "a purge undoes the setup when the program nmd is missing" "$(tree)" "$before"
is "a purge without the program nmd does not report the setup" "$(grep -c yarn-setup <<<"$out")" 0
setup
sed -i '/JAVA_HOME/d' "$root$unit"
chmod 700 "$root/data/1/yarn"
mkdir -p "$root/elsewhere" "$root/data/2/yarn/local/usercache"
rmdir "$root/data/1/logs"
ln -s /elsewhere "$root/data/1/logs"
sum=$(sha256sum <"$root$config")
mv "$root$config" "$root/elsewhere/50-yarn.conf"
ln -s "$root/elsewhere/50-yarn.conf" "$root$config"
purge
is "a purge continues after a file that it must not remove" "$status $err" "0 "
kept "$unit" "it was changed after the setup wrote it"
kept "$config" "another file or directory has replaced it"
kept /data/1/yarn "its owner or mode was changed"
kept /data/1/logs "another file or directory has replaced it"
kept /data/2/yarn/local "it isn't empty"
is "the purge does not change the target of a link" "$(sha256sum <"$root/elsewhere/50-yarn.conf")" "$sum"
is "the purge does not change the files that it must not remove" \
    "$(stat -c %a "$root/data/1/yarn") $(readlink "$root/data/1/logs")" "700 /elsewhere"
check "the purge removes the state directory" test ! -e "$root/var/lib/nmd"
rm -r "$root/elsewhere" "$root/data/1/logs" "$root/data/2/yarn" "$root${unit%/*}" "$root${config%/*}" "$root/etc/nmd"
mkdir "$root/etc/nmd" "$root/data/2/yarn"
chmod 2775 "$root/data/1/yarn"
[ "$as_root" != 0 ] || chown 12345:23456 "$root/data/1/yarn"
is "the purge leaves the rest of the host as before the setup" "$(tree)" "$before"

if [ "$as_root" = 0 ]; then
    setup
    mkdir -p "$root"/data/1/yarn/{usercache,lost+found,theirs}
    chown 12345 "$root/data/1/yarn/theirs"
    purge
    kept /data/1/yarn "belongs to 12345:23456 again, but these entries in it belong to root: usercache"
    rm -r "$root"/data/1/yarn/*
    is "the purge gives the directory back to its former owner" "$(tree)" "$before"
fi

setup
mv "$root/data" "$root/disks"
ln -s disks "$root/data"
purge
kept /data/1/logs "symbolic link"
kept /data/1/yarn "symbolic link"
check "the purge removes no file through a symbolic link in the path" test -d "$root/disks/1/logs"
is "the purge changes no owner through a symbolic link in the path" "$(stat -c '%a %u:%g' "$root/disks/1/yarn")" "755 $owner"
rm "$root/data"
mv "$root/disks" "$root/data"
# Manipulated lists of changes: a list with files that don't belong to nmd, and a list with text that sh can't parse.
mkdir -p "$root/var/lib/nmd" "$root/mine" "$root/open/mine"
chmod 777 "$root/open"
echo mine | tee "$root/mine/file" "$root/open/mine/file" >"$root/mine/\"x\""
sum=$(sha256sum <"$root/mine/file")
list() { # PATH...: writes a list of changes with the right checksums of these files
    local path first=,
    printf '{\n "version": 1,\n "conf_dir": "/c",\n "entries": [\n'
    for path; do
        [ "$path" != "${*: -1}" ] || first=
        printf '  {\n   "kind": "file",\n   "path": "%s",\n   "sha256": [\n    "%s"\n   ]\n  }%s\n' "$path" "${sum%% *}" "$first"
    done
    printf ' ]\n}'
}
list /etc/../mine/file '/mine/\"x\"' /open/mine/file /mine/./file >"$root/var/lib/nmd/yarn-setup"
purge
is "a purge succeeds when other users can write the list of changes" "$status" 0
for path in /etc/../mine/file /open/mine/file /mine/./file; do
    kept "$path" "a user other than root can change its path"
done
is "a purge removes no listed file when other users can write the list of changes" \
    "$(cat "$root/mine/file" "$root/mine/\"x\"" "$root/open/mine/file" | sort -u)" mine
mkdir "$root/var/lib/nmd"
list /mine/file >"$root/var/lib/nmd/yarn-setup"
purge
check "a purge removes a listed file when only root can write the list of changes" test ! -e "$root/mine/file"
rm -r "$root/mine" "$root/open" "$root/data/1/logs" "$root/data/2/yarn/local"
before=$(tree)

# ---- refusals -----------------------------------------------------------------------------------------

mkdir "$root/elsewhere"
ln -s /elsewhere "$root/etc/nmd/nmd.conf.d"
ln -s "$root/elsewhere" "$root${unit%/*}"
before=$(tree)
setup
is "the setup writes no file through a symbolic link" "$status $(ls -A "$root/elsewhere")" "1 "
like "the setup reports the symbolic link" "$out" "left    $config: the path is or contains a symbolic link"
setup --undo
is "the undo succeeds although a path contains a symbolic link" "$status" 0
is "the undo reverts all changes" "$(tree)" "$before"
rm "$root/etc/nmd/nmd.conf.d" "$root${unit%/*}"

site yarn.http.policy HTTPS_ONLY yarn.nodemanager.local-dirs /data/1/yarn
before=$(tree)
setup
is "the setup for an unsupported cluster is refused" "$status" 1
like "the refusal of an unsupported cluster gives the reason" "$err" "yarn.http.policy = 'HTTPS_ONLY'"
is "the refused setup writes no file" "$(tree)" "$before"
if [ "$as_root" = 0 ]; then
    site yarn.nodemanager.log-dirs /data/1/yarn/logs yarn.nodemanager.local-dirs /data/1/yarn
    before=$(tree)
    setup
    is "one setup succeeds for logs in a subdirectory of a directory of Hadoop's user" "$status" 0
    is "the directory and its subdirectory then belong to root" \
        "$(stat -c '%u %a' "$root"/data/1/yarn{,/logs} | paste -sd' ')" '0 755 0 755'
    setup --undo
    is "the undo gives the directory and its subdirectory back to their owners" "$status $(tree | sha256sum)" "0 $(sha256sum <<<"$before")"
fi
site yarn.nodemanager.local-dirs /data/1/yarn
before=$(tree)

wrong() { # NAME STATUS WORDS OPTION...
    local name=$1 wanted=$2 words=$3
    shift 3
    try timeout 10 "$NMD" "$@"
    is "$name: refused with the documented exit status" "$status" "$wanted"
    like "$name: the error message names the mistake" "$err" "$words"
}
wrong "an option without the setup" 2 "dry-run.*require --yarn-setup" --dry-run
wrong "an option that the undo doesn't have" 2 "--undo can't be combined with" --yarn-setup "$conf" --undo --allow 192.0.2.1
wrong "a relative directory" 1 "--yarn-setup 'conf': must be an absolute path" --yarn-setup conf --root "$root"
wrong "a setup without --network" 1 "--allow '192.0.2.0/40'" --yarn-setup "$conf" --root "$root" --allow 192.0.2.0/40
wrong "a dry run without --network" 1 "--allow '192.0.2.0/40'" --yarn-setup "$conf" --root "$root" --allow 192.0.2.0/40 --dry-run
like "the error message comes first" "$(head -n 1 <<<"$err")" "--allow '192.0.2.0/40'"
like "the line after the error message says that no file was changed" "$(tail -n 1 <<<"$err")" "nothing was changed"
wrong "a network that systemd doesn't accept" 1 "--allow '10.0.0.0/08'" --yarn-setup "$conf" --root "$root" --allow 10.0.0.0/08
wrong "a Java that doesn't exist" 1 "--java-home '/none'" --yarn-setup "$conf" --root "$root" --java-home /none
wrong "files that don't exist" 1 "$root/none" --yarn-setup /none --root "$root"
is "the refused setups wrote no file" "$(tree)" "$before"
done_testing
